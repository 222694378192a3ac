// The story that every language's client tells against a live deployment: see ../README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	edge "polyglot/gen/footnote/edge/v1"
	types "polyglot/gen/footnote/types/v1"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const text = "# Leave\n\nEvery employee has 27 days of paid leave a year.\n"

func main() {
	if err := story(os.Getenv("FOOTNOTE_ADDRESS")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func story(address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+os.Getenv("FOOTNOTE_API_KEY"))
	channel, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer channel.Close()
	collections := edge.NewCollectionsServiceClient(channel)
	documents := edge.NewDocumentsServiceClient(channel)
	answers := edge.NewAnswersServiceClient(channel)

	name := "polyglot-go"
	_, err = collections.CreateCollection(ctx, &edge.CreateCollectionRequest{Collection: &types.Collection{Name: name}})
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	fmt.Println("create")

	document, err := upload(ctx, documents, name)
	if err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	fmt.Println("upload")
	if err := watch(ctx, documents, document); err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	fmt.Println("watch")

	found, err := answers.Search(ctx, &edge.SearchRequest{Query: "paid leave", Collections: []string{name}})
	if err != nil {
		return fmt.Errorf("search: %w", err)
	}
	if len(found.Chunks) != 1 || !strings.Contains(found.Chunks[0].Chunk.Text, "27 days") {
		return fmt.Errorf("search found %v", found.Chunks)
	}
	fmt.Println("search")

	if err := ask(ctx, answers, name); err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	fmt.Println("ask")
	if err := failure(ctx, collections); err != nil {
		return fmt.Errorf("error: %w", err)
	}
	fmt.Println("error")
	if err := cancelled(ctx, documents, name); err != nil {
		return fmt.Errorf("cancel: %w", err)
	}
	fmt.Println("cancel")

	if _, err := documents.DeleteDocument(ctx, &edge.DeleteDocumentRequest{DocumentId: document}); err != nil {
		return fmt.Errorf("delete document: %w", err)
	}
	if _, err := collections.DeleteCollection(ctx, &edge.DeleteCollectionRequest{Collection: name}); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	fmt.Println("delete")
	return nil
}

func upload(ctx context.Context, documents edge.DocumentsServiceClient, collection string) (string, error) {
	stream, err := documents.UploadDocument(ctx)
	if err != nil {
		return "", err
	}
	head := &edge.UploadMetadata{Collection: collection, Filename: "leave.md", Tags: []string{"go"}}
	messages := []*edge.UploadDocumentRequest{
		{Payload: &edge.UploadDocumentRequest_Metadata{Metadata: head}},
		{Payload: &edge.UploadDocumentRequest_Data{Data: []byte(text[:20])}},
		{Payload: &edge.UploadDocumentRequest_Data{Data: []byte(text[20:])}},
	}
	for _, message := range messages {
		if err := stream.Send(message); err != nil {
			break // the reason comes with the response
		}
	}
	response, err := stream.CloseAndRecv()
	if err != nil {
		return "", err
	}
	return response.Document.Id, nil
}

func watch(ctx context.Context, documents edge.DocumentsServiceClient, id string) error {
	stream, err := documents.WatchDocument(ctx, &edge.WatchDocumentRequest{DocumentId: id})
	if err != nil {
		return err
	}
	last := types.DocumentState_DOCUMENT_STATE_UNSPECIFIED
	for {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		last = event.Document.State
	}
	if last != types.DocumentState_DOCUMENT_STATE_INDEXED {
		return fmt.Errorf("ended as %v", last)
	}
	return nil
}

func ask(ctx context.Context, answers edge.AnswersServiceClient, collection string) error {
	request := &edge.AskRequest{Question: "How many days of paid leave does every employee have?", Collections: []string{collection}}
	stream, err := answers.Ask(ctx, request)
	if err != nil {
		return err
	}
	var words strings.Builder
	for {
		event, err := stream.Recv()
		if err != nil {
			return err // also io.EOF: `completed` is the last event
		}
		words.WriteString(event.GetTextDelta())
		if completed := event.GetCompleted(); completed != nil {
			citations := completed.Answer.Citations
			if !strings.Contains(words.String(), "27 days") || len(citations) != 1 {
				return fmt.Errorf("answered %q with %v", words.String(), citations)
			}
			lines := citations[0].Locator.GetLines()
			if citations[0].Support != types.Verdict_VERDICT_SUPPORTED || lines.GetFirstLine() != 3 {
				return fmt.Errorf("the footnote is %v", citations[0])
			}
			return nil
		}
	}
}

func failure(ctx context.Context, collections edge.CollectionsServiceClient) error {
	_, err := collections.GetCollection(ctx, &edge.GetCollectionRequest{Collection: "there-is-none"})
	told := status.Convert(err)
	if told.Code() != codes.NotFound {
		return fmt.Errorf("not NOT_FOUND but %w", err)
	}
	for _, detail := range told.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.Reason == "COLLECTION_NOT_FOUND" && info.Domain != "" {
			return nil
		}
	}
	return fmt.Errorf("no ErrorInfo in %v", told.Details())
}

func cancelled(ctx context.Context, documents edge.DocumentsServiceClient, collection string) error {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := documents.WatchDocuments(ctx, &edge.WatchDocumentsRequest{Collection: collection})
	if err != nil {
		return err
	}
	if _, err := stream.Recv(); err != nil {
		return err
	}
	cancel()
	for {
		if _, err := stream.Recv(); err != nil {
			if status.Code(err) != codes.Canceled {
				return err
			}
			return nil
		}
	}
}
