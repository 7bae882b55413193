// throw-away
use base::clock::Clock;
use mcp::{Answer, Api, Call};
use std::io::Write;
use std::process::{Command, Stdio};
#[derive(Clone)]
struct Curl {
    url: String,
    token: Option<String>,
}
impl Api for Curl {
    async fn call(&self, call: Call) -> Result<Answer, String> {
        let me = self.clone();
        tokio::task::spawn_blocking(move || {
            let mut c = Command::new("curl");
            c.args(["-s", "-X", call.method.as_str(), "-w", "\n%{http_code}"]);
            let auth = call
                .authorization()
                .map(|a| a.to_str().unwrap().to_owned())
                .or(me.token.map(|t| format!("Bearer {t}")));
            if let Some(a) = auth {
                c.arg("-H").arg(format!("Authorization: {a}"));
            }
            if call.body.is_some() {
                c.args(["-H", "content-type: application/json", "--data-binary", "@-"]);
            }
            c.arg(format!("{}{}", me.url, call.path));
            c.stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = c.spawn().map_err(|e| e.to_string())?;
            let mut stdin = child.stdin.take().unwrap();
            if let Some(b) = &call.body {
                stdin.write_all(b.to_string().as_bytes()).unwrap();
            }
            drop(stdin);
            let out = child.wait_with_output().unwrap();
            let text = String::from_utf8(out.stdout).unwrap();
            let (body, status) = text.rsplit_once('\n').unwrap();
            let status: u16 = status.parse().unwrap();
            if status == 0 {
                return Err(format!("nothing answers at {}", me.url));
            }
            Ok(Answer {
                status: http::StatusCode::from_u16(status).unwrap(),
                body: body.as_bytes().to_vec(),
            })
        })
        .await
        .unwrap()
    }
}
#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().collect();
    let flag = |name: &str| args.iter().position(|a| a == name).map(|i| args[i + 1].clone());
    let api = Curl {
        url: flag("--url").or(std::env::var("EVENHAND_URL").ok()).unwrap(),
        token: flag("--token").or(std::env::var("EVENHAND_TOKEN").ok()),
    };
    if let Some(listen) = flag("--http") {
        let l = tokio::net::TcpListener::bind(&listen).await.unwrap();
        let router =
            axum::Router::new().nest_service("/mcp", mcp::http_service(api, Clock::System));
        axum::serve(l, router).await.unwrap();
    } else {
        mcp::serve_stdio(api, Clock::System).await.unwrap();
    }
}
