"""Haystack: its in-memory store, asked by BM25 and by embedding, joined by reciprocal rank."""

from haystack import Document
from haystack.components.joiners import DocumentJoiner
from haystack.document_stores.in_memory import InMemoryDocumentStore
from peer import TOP, main


class Hay:
    """One store in memory."""

    def __init__(self, folder, known):
        self._store = InMemoryDocumentStore(embedding_similarity_function="cosine", return_embedding=False)
        self._join = DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=TOP)

    def ingest(self, texts, vectors):
        self._store.write_documents(
            [
                Document(id=str(at), content=text, embedding=vector)
                for at, (text, vector) in enumerate(zip(texts, vectors.tolist(), strict=True))
            ]
        )

    def search(self, text, vector):
        words = self._store.bm25_retrieval(text, top_k=TOP)
        meaning = self._store.embedding_retrieval(vector.tolist(), top_k=TOP)
        return len(self._join.run([words, meaning])["documents"])


if __name__ == "__main__":
    main(Hay)
