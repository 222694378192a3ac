package polyglot;

import com.google.protobuf.ByteString;
import com.google.rpc.ErrorInfo;
import footnote.edge.v1.AnswersServiceGrpc;
import footnote.edge.v1.AskRequest;
import footnote.edge.v1.AskResponse;
import footnote.edge.v1.CollectionsServiceGrpc;
import footnote.edge.v1.CreateCollectionRequest;
import footnote.edge.v1.DeleteCollectionRequest;
import footnote.edge.v1.DeleteDocumentRequest;
import footnote.edge.v1.DocumentsServiceGrpc;
import footnote.edge.v1.GetCollectionRequest;
import footnote.edge.v1.SearchRequest;
import footnote.edge.v1.UploadDocumentRequest;
import footnote.edge.v1.UploadDocumentResponse;
import footnote.edge.v1.UploadMetadata;
import footnote.edge.v1.WatchDocumentRequest;
import footnote.edge.v1.WatchDocumentsRequest;
import footnote.types.v1.Collection;
import footnote.types.v1.DocumentState;
import footnote.types.v1.Verdict;
import io.grpc.ClientInterceptors;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** The story that every language's client tells against a live deployment: see ../../../../../README.md. */
public final class Main {
  private static final String NAME = "polyglot-java";
  private static final byte[] TEXT = "# Leave\n\nEvery employee has 27 days of paid leave a year.\n".getBytes();

  public static void main(String[] arguments) throws Exception {
    ManagedChannel channel =
        ManagedChannelBuilder.forTarget(System.getenv("FOOTNOTE_ADDRESS")).usePlaintext().build();
    var key = new Metadata();
    key.put(
        Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER),
        "Bearer " + System.getenv("FOOTNOTE_API_KEY"));
    var withKey = ClientInterceptors.intercept(channel, MetadataUtils.newAttachHeadersInterceptor(key));
    var collections = CollectionsServiceGrpc.newBlockingStub(withKey);
    var documents = DocumentsServiceGrpc.newBlockingStub(withKey);
    var answers = AnswersServiceGrpc.newBlockingStub(withKey);

    var wanted = Collection.newBuilder().setName(NAME);
    collections.createCollection(CreateCollectionRequest.newBuilder().setCollection(wanted).build());
    System.out.println("create");
    String id = upload(DocumentsServiceGrpc.newStub(withKey));
    System.out.println("upload");
    watch(documents, id);
    System.out.println("watch");
    var found = answers.search(SearchRequest.newBuilder().setQuery("paid leave").addCollections(NAME).build());
    check(found.getChunksCount() == 1, "search found " + found.getChunksCount());
    check(found.getChunks(0).getChunk().getText().contains("27 days"), "search found something else");
    System.out.println("search");
    ask(answers);
    System.out.println("ask");
    failure(collections);
    System.out.println("error");
    cancelled(documents);
    System.out.println("cancel");
    documents.deleteDocument(DeleteDocumentRequest.newBuilder().setDocumentId(id).build());
    collections.deleteCollection(DeleteCollectionRequest.newBuilder().setCollection(NAME).build());
    System.out.println("delete");
    channel.shutdownNow();
  }

  private static String upload(DocumentsServiceGrpc.DocumentsServiceStub documents) throws Exception {
    var result = new CompletableFuture<UploadDocumentResponse>();
    StreamObserver<UploadDocumentRequest> stream =
        documents.uploadDocument(
            new StreamObserver<>() {
              @Override
              public void onNext(UploadDocumentResponse response) {
                result.complete(response);
              }

              @Override
              public void onError(Throwable error) {
                result.completeExceptionally(error);
              }

              @Override
              public void onCompleted() {}
            });
    var head = UploadMetadata.newBuilder().setCollection(NAME).setFilename("leave.md").addTags("java");
    stream.onNext(UploadDocumentRequest.newBuilder().setMetadata(head).build());
    stream.onNext(UploadDocumentRequest.newBuilder().setData(ByteString.copyFrom(TEXT, 0, 20)).build());
    var rest = ByteString.copyFrom(TEXT, 20, TEXT.length - 20);
    stream.onNext(UploadDocumentRequest.newBuilder().setData(rest).build());
    stream.onCompleted();
    return result.get(60, TimeUnit.SECONDS).getDocument().getId();
  }

  private static void watch(DocumentsServiceGrpc.DocumentsServiceBlockingStub documents, String id) {
    var last = DocumentState.DOCUMENT_STATE_UNSPECIFIED;
    var events = documents.watchDocument(WatchDocumentRequest.newBuilder().setDocumentId(id).build());
    while (events.hasNext()) {
      last = events.next().getDocument().getState();
    }
    check(last == DocumentState.DOCUMENT_STATE_INDEXED, "ended as " + last);
  }

  private static void ask(AnswersServiceGrpc.AnswersServiceBlockingStub answers) {
    var question = "How many days of paid leave does every employee have?";
    var words = new StringBuilder();
    var events = answers.ask(AskRequest.newBuilder().setQuestion(question).addCollections(NAME).build());
    while (events.hasNext()) {
      AskResponse event = events.next();
      words.append(event.getTextDelta());
      if (event.hasCompleted()) {
        var answer = event.getCompleted().getAnswer();
        check(words.toString().contains("27 days") && answer.getCitationsCount() == 1, "answered " + words);
        var citation = answer.getCitations(0);
        check(citation.getSupport() == Verdict.VERDICT_SUPPORTED, "the footnote is " + citation);
        check(citation.getLocator().getLines().getFirstLine() == 3, "the footnote is " + citation);
        return;
      }
    }
    throw new IllegalStateException("the answer did not end");
  }

  private static void failure(CollectionsServiceGrpc.CollectionsServiceBlockingStub collections) throws Exception {
    try {
      collections.getCollection(GetCollectionRequest.newBuilder().setCollection("there-is-none").build());
    } catch (StatusRuntimeException error) {
      check(error.getStatus().getCode() == Status.Code.NOT_FOUND, "not NOT_FOUND but " + error);
      for (var detail : StatusProto.fromThrowable(error).getDetailsList()) {
        if (detail.is(ErrorInfo.class)) {
          check(detail.unpack(ErrorInfo.class).getReason().equals("COLLECTION_NOT_FOUND"), "the reason is " + detail);
          return;
        }
      }
    }
    throw new IllegalStateException("a collection that is not there was found, or its error tells no reason");
  }

  private static void cancelled(DocumentsServiceGrpc.DocumentsServiceBlockingStub documents) {
    Context.CancellableContext context = Context.current().withCancellation();
    context.run(
        () -> {
          var request = WatchDocumentsRequest.newBuilder().setCollection(NAME).build();
          var events = documents.watchDocuments(request);
          try {
            while (events.hasNext()) {
              events.next();
              context.cancel(null);
            }
          } catch (StatusRuntimeException error) {
            check(error.getStatus().getCode() == Status.Code.CANCELLED, "cancelled with " + error);
            return;
          }
          throw new IllegalStateException("the stream ended by itself");
        });
  }

  private static void check(boolean condition, String words) {
    if (!condition) {
      throw new IllegalStateException(words);
    }
  }
}
