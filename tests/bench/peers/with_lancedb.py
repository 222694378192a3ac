"""LanceDB, embedded: a table with a full-text index, searched by its own hybrid query and RRF."""

import lancedb
import pyarrow as pa
from lancedb.rerankers import RRFReranker
from peer import TOP, main


class Lance:
    """One table in a folder."""

    def __init__(self, folder, known):
        self._database = lancedb.connect(folder / "lance")
        self._reranker = RRFReranker()

    def ingest(self, texts, vectors):
        columns = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
        rows = pa.table({"id": pa.array(range(len(texts))), "text": pa.array(texts), "vector": columns})
        self._table = self._database.create_table("chunks", rows)
        self._table.create_fts_index("text")

    def search(self, text, vector):
        words = " ".join(filter(str.isalnum, text.replace("?", " ").split()))
        query = self._table.search(query_type="hybrid").vector(vector).text(words)
        return len(query.rerank(self._reranker).limit(TOP).select(["id", "text"]).to_list())


if __name__ == "__main__":
    main(Lance)
