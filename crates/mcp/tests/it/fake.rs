//! An interface that notes what it is asked, holds it against openapi.json, and answers as it was told.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use base::clock::Clock;
use http::StatusCode;
use mcp::{Answer, Api, Call, McpServer};
use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::service::RunningService;
use rmcp::{ErrorData, RoleClient, RoleServer, ServiceError, ServiceExt};
use serde_json::{Value, json};

use crate::specification;

/// 2026-01-15T12:00:00Z.
pub const NOW: i64 = 1_768_478_400;

type Told = (Option<String>, Result<Answer, String>);

#[derive(Clone, Default)]
pub struct Fake {
    told: Arc<Mutex<VecDeque<Told>>>,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl Fake {
    /// The next call must be of this operation, and gets a whole answer that says `given`.
    pub fn answers(&self, operation_id: &str, given: Value) -> &Self {
        let body = specification::answer(operation_id, given).to_string().into_bytes();
        let answer = Answer { status: StatusCode::OK, body };
        self.told.lock().unwrap().push_back((Some(operation_id.to_owned()), Ok(answer)));
        self
    }

    /// The next call is refused with a problem body.
    pub fn refuses(&self, status: u16, code: &str, detail: &str, errors: Value) -> &Self {
        let problem = json!({
            "type": format!("urn:evenhand:problem:{code}"), "title": "Refused", "status": status,
            "detail": detail, "code": code, "request_id": "r", "errors": errors, "errors_not_listed": 0,
        });
        self.says(status, &problem.to_string())
    }

    /// The next call gets this text.
    pub fn says(&self, status: u16, text: &str) -> &Self {
        let status = StatusCode::from_u16(status).unwrap();
        let answer = Answer { status, body: text.as_bytes().to_vec() };
        self.told.lock().unwrap().push_back((None, Ok(answer)));
        self
    }

    /// The next call gets no answer.
    pub fn is_away(&self, reason: &str) -> &Self {
        self.told.lock().unwrap().push_back((None, Err(reason.to_owned())));
        self
    }

    /// The calls since the last time that this was asked, as (method, path with query, body).
    pub fn requests(&self) -> Vec<(String, String, Option<Value>)> {
        let calls = std::mem::take(&mut *self.calls.lock().unwrap());
        calls.into_iter().map(|call| (call.method.to_string(), call.path, call.body)).collect()
    }

    /// The calls, whole.
    pub fn calls(&self) -> Vec<Call> {
        std::mem::take(&mut *self.calls.lock().unwrap())
    }
}

impl Api for Fake {
    async fn call(&self, call: Call) -> Result<Answer, String> {
        let (path, query) = call.path.split_once('?').unwrap_or((&call.path, ""));
        let query: Vec<(String, String)> =
            form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let operation = specification::operation_of(call.method.as_str(), path);
        specification::check_request(operation, &query, call.body.as_ref());
        let (expected, answer) =
            self.told.lock().unwrap().pop_front().unwrap_or_else(|| panic!("unexpected {call:?}"));
        if let Some(expected) = expected {
            assert_eq!(operation["operationId"], expected.as_str());
        }
        self.calls.lock().unwrap().push(call);
        answer
    }
}

/// A client of a server on top of a fake.
pub struct Connection {
    pub fake: Fake,
    pub client: RunningService<RoleClient, ()>,
    _server: RunningService<RoleServer, McpServer<Fake>>,
}

impl Connection {
    pub async fn open() -> Self {
        let fake = Fake::default();
        let (near, far) = tokio::io::duplex(1 << 16);
        let server = McpServer::new(fake.clone(), Clock::manual(NOW));
        let (client, server) = tokio::join!(().serve(near), server.serve(far));
        Connection { fake, client: client.unwrap(), _server: server.unwrap() }
    }

    pub async fn try_call(
        &self,
        tool: &'static str,
        arguments: Value,
    ) -> Result<CallToolResult, ErrorData> {
        let arguments = arguments.as_object().unwrap().clone();
        let request = CallToolRequestParams::new(tool).with_arguments(arguments);
        self.client.call_tool(request).await.map_err(|error| match error {
            ServiceError::McpError(error) => error,
            other => panic!("{other}"),
        })
    }

    /// The text and the data of a successful call.
    pub async fn call(&self, tool: &'static str, arguments: Value) -> (String, Value) {
        let result = self.try_call(tool, arguments).await.unwrap();
        assert_eq!(result.is_error, Some(false), "{result:?}");
        parts(result)
    }

    /// The text and the data of a call that failed.
    pub async fn fail(&self, tool: &'static str, arguments: Value) -> (String, Value) {
        let result = self.try_call(tool, arguments).await.unwrap();
        assert_eq!(result.is_error, Some(true), "{result:?}");
        parts(result)
    }
}

fn parts(result: CallToolResult) -> (String, Value) {
    let [content] = result.content.as_slice() else { panic!("{result:?}") };
    let text = content.as_text().unwrap().text.clone();
    (text, result.structured_content.unwrap())
}
