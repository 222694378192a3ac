//! The story that every language's client tells against a live deployment: see ../README.md.
use std::{env, error::Error, time::Duration};

use tonic::{metadata::MetadataValue, service::Interceptor, transport::Endpoint, Code, Request, Status};

mod contracts {
    #![allow(clippy::all)]
    tonic::include_proto!("contracts");
}
use contracts::footnote::{edge::v1 as edge, types::v1 as types};
use edge::{answers_service_client::AnswersServiceClient, collections_service_client::CollectionsServiceClient};
use edge::{ask_response, documents_service_client::DocumentsServiceClient, upload_document_request as upload};

const TEXT: &str = "# Leave\n\nEvery employee has 27 days of paid leave a year.\n";
const QUESTION: &str = "How many days of paid leave does every employee have?";
const NAME: &str = "polyglot-rust";

/// Sends the key with every call.
#[derive(Clone)]
struct Key(MetadataValue<tonic::metadata::Ascii>);

impl Interceptor for Key {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request.metadata_mut().insert("authorization", self.0.clone());
        Ok(request)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    tokio::time::timeout(Duration::from_secs(120), story()).await?
}

async fn story() -> Result<(), Box<dyn Error>> {
    let channel = Endpoint::from_shared(format!("http://{}", env::var("FOOTNOTE_ADDRESS")?))?.connect().await?;
    let key = Key(format!("Bearer {}", env::var("FOOTNOTE_API_KEY")?).parse()?);
    let mut collections = CollectionsServiceClient::with_interceptor(channel.clone(), key.clone());
    let mut documents = DocumentsServiceClient::with_interceptor(channel.clone(), key.clone());
    let mut answers = AnswersServiceClient::with_interceptor(channel, key);
    let named = vec![NAME.to_string()];

    let collection = types::Collection { name: NAME.into(), ..Default::default() };
    let create = edge::CreateCollectionRequest { collection: Some(collection), ..Default::default() };
    collections.create_collection(create).await?;
    println!("create");

    let metadata =
        edge::UploadMetadata { collection: NAME.into(), filename: "leave.md".into(), ..Default::default() };
    let parts = vec![
        edge::UploadDocumentRequest { payload: Some(upload::Payload::Metadata(metadata)) },
        edge::UploadDocumentRequest { payload: Some(upload::Payload::Data(TEXT.into())) },
    ];
    let uploaded = documents.upload_document(tokio_stream::iter(parts)).await?.into_inner();
    let document = uploaded.document.ok_or("no document")?;
    println!("upload");

    let watch = edge::WatchDocumentRequest { document_id: document.id.clone(), ..Default::default() };
    let mut states = documents.watch_document(watch).await?.into_inner();
    let mut last = None;
    while let Some(state) = states.message().await? {
        last = state.document;
    }
    if last.ok_or("nothing was watched")?.state() != types::DocumentState::Indexed {
        return Err("the document was not indexed".into());
    }
    println!("watch");

    let search = edge::SearchRequest { query: "paid leave".into(), collections: named.clone(), ..Default::default() };
    let found = answers.search(search).await?.into_inner();
    let first = found.chunks.first().and_then(|one| one.chunk.as_ref()).ok_or("nothing was found")?;
    if !first.text.contains("27 days") {
        return Err("the search found something else".into());
    }
    println!("search");

    let ask = edge::AskRequest { question: QUESTION.into(), collections: named.clone(), ..Default::default() };
    let mut events = answers.ask(ask.clone()).await?.into_inner();
    let mut completed = None;
    while let Some(event) = events.message().await? {
        if let Some(ask_response::Event::Completed(one)) = event.event {
            completed = Some(one);
        }
    }
    let answer = completed.and_then(|one| one.answer).ok_or("no answer came")?;
    let footnote = answer.citations.first().ok_or("the answer has no footnote")?;
    if footnote.document_id != document.id || footnote.revision != 1 || !footnote.quote.contains("27 days") {
        return Err(format!("the footnote is {footnote:?}").into());
    }
    println!("ask");

    let missing = edge::GetDocumentRequest { document_id: "missing".into() };
    let error = documents.get_document(missing).await.expect_err("a document that is not there");
    // google.rpc.Status with an ErrorInfo; its reason is all that is read here.
    let details = error.details().windows(18).any(|part| part == b"DOCUMENT_NOT_FOUND");
    if error.code() != Code::NotFound || !details {
        return Err(format!("the error is {error:?}").into());
    }
    println!("error");

    let mut events = answers.ask(ask).await?.into_inner();
    events.message().await?.ok_or("the stream was empty")?;
    drop(events); // leaving a stream cancels its call
    println!("cancel");

    let delete = edge::DeleteCollectionRequest { collection: NAME.into(), ..Default::default() };
    collections.delete_collection(delete).await?;
    println!("delete");
    Ok(())
}
