//! A small OpenID Connect provider: authorization code with PKCE, rotating refresh tokens, RS256.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base::clock::Clock;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::{Value, json};
use service::config::Settings;
use sha2::{Digest, Sha256};

const KEY: &str = include_str!("provider-key.pem");
pub const CLIENT_ID: &str = "evenhand-tests";
const CLIENT_SECRET: &str = "a-secret-of-the-tests";
const REDIRECT_URL: &str = "http://localhost:1/auth/oidc/callback";

type Parameters = HashMap<String, String>;

pub struct Provider {
    pub issuer: String,
    inner: Arc<Mutex<Inner>>,
}

pub struct Inner {
    clock: Clock,
    issuer: String,
    /// Claims of those who have an account, by subject.
    pub people: HashMap<String, Value>,
    /// The one who sits at the browser, signed in at the provider already.
    pub at_the_browser: String,
    pub hands_out_refresh_tokens: bool,
    /// Answers nothing but 503.
    pub is_down: bool,
    /// Id of the signing key.
    pub key_id: String,
    /// Changes header and claims of ID tokens before they are signed.
    pub tamper: fn(&mut Value, &mut Value),
    /// Cuts a signature off.
    pub unsigned: bool,
    /// Refresh tokens that were exchanged.
    pub refreshed: usize,
    codes: HashMap<String, Code>,
    refresh_tokens: HashMap<String, String>,
    handed_out: usize,
}

struct Code {
    subject: String,
    nonce: String,
    challenge: String,
}

impl Provider {
    pub async fn start(clock: &Clock) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let inner = Arc::new(Mutex::new(Inner {
            clock: clock.clone(),
            issuer: issuer.clone(),
            people: HashMap::new(),
            at_the_browser: String::new(),
            hands_out_refresh_tokens: true,
            is_down: false,
            key_id: "first".to_owned(),
            tamper: |_, _| {},
            unsigned: false,
            refreshed: 0,
            codes: HashMap::new(),
            refresh_tokens: HashMap::new(),
            handed_out: 0,
        }));
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(metadata))
            .route("/keys", get(keys))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .with_state(inner.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Provider { issuer, inner }
    }

    /// Settings of a server that people sign in to with this provider.
    pub fn configure(&self, settings: &mut Settings) {
        let list = |value: &str| vec![value.to_owned()];
        let oidc = &mut settings.oidc;
        oidc.issuer = self.issuer.clone();
        oidc.name = "Test ID".to_owned();
        oidc.client_id = CLIENT_ID.to_owned();
        oidc.client_secret = CLIENT_SECRET.into();
        oidc.redirect_url = REDIRECT_URL.to_owned();
        (oidc.viewers, oidc.editors) = (list("look"), list("run"));
        (oidc.governance, oidc.admins) = (list("forget"), list("all"));
        oidc.organization = "one".to_owned();
    }

    pub fn with(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap()
    }

    /// Gives somebody an account, and seats them at the browser.
    pub fn seat(&self, subject: &str, claims: Value) {
        let mut inner = self.with();
        inner.people.insert(subject.to_owned(), claims);
        inner.at_the_browser = subject.to_owned();
    }
}

impl Inner {
    fn number(&mut self) -> usize {
        self.handed_out += 1;
        self.handed_out
    }

    /// An ID token for somebody, with what the test does to it.
    fn id_token(&self, subject: &str, nonce: Option<&str>) -> String {
        let now = self.clock.now();
        let mut claims = self.people[subject].clone();
        let own = json!({"iss": self.issuer, "aud": CLIENT_ID, "sub": subject, "iat": now, "exp": now + 300});
        claims.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        if let Some(nonce) = nonce {
            claims["nonce"] = json!(nonce);
        }
        let mut head = json!({"alg": "RS256", "kid": self.key_id, "typ": "JWT"});
        (self.tamper)(&mut head, &mut claims);
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&head), part(&claims));
        let pair = key_pair();
        let mut signature = vec![0; pair.public().modulus_len()];
        pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature)
            .unwrap();
        let signature =
            if self.unsigned { String::new() } else { URL_SAFE_NO_PAD.encode(signature) };
        format!("{signed}.{signature}")
    }

    fn tokens(&mut self, subject: &str, nonce: Option<&str>) -> Value {
        let id_token = self.id_token(subject, nonce);
        let mut tokens = json!({"access_token": "unused", "token_type": "Bearer", "expires_in": 60, "id_token": id_token});
        if self.hands_out_refresh_tokens {
            let token = format!("refresh-{}", self.number());
            tokens["refresh_token"] = json!(token);
            self.refresh_tokens.insert(token, subject.to_owned());
        }
        tokens
    }
}

fn key_pair() -> RsaKeyPair {
    let text: String = KEY.lines().filter(|line| !line.starts_with('-')).collect();
    RsaKeyPair::from_pkcs8(&STANDARD.decode(text).unwrap()).unwrap()
}

type Shared = State<Arc<Mutex<Inner>>>;

async fn metadata(State(inner): Shared) -> Response {
    let inner = inner.lock().unwrap();
    if inner.is_down {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let at = |path: &str| format!("{}{path}", inner.issuer);
    Json(json!({
        "issuer": inner.issuer, "authorization_endpoint": at("/authorize"), "token_endpoint": at("/token"),
        "jwks_uri": at("/keys"), "response_types_supported": ["code"], "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
    }))
    .into_response()
}

async fn keys(State(inner): Shared) -> Json<Value> {
    let (pair, encoded) = (key_pair(), |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes));
    let public: ring::rsa::PublicKeyComponents<Vec<u8>> = pair.public().into();
    let key_id = inner.lock().unwrap().key_id.clone();
    Json(json!({"keys": [{
        "kty": "RSA", "alg": "RS256", "use": "sig", "kid": key_id, "n": encoded(&public.n), "e": encoded(&public.e),
    }]}))
}

/// Nobody is asked anything: the one at the browser is signed in.
async fn authorize(State(inner): Shared, Query(asked): Query<Parameters>) -> Response {
    let mut inner = inner.lock().unwrap();
    assert_eq!((asked["client_id"].as_str(), asked["response_type"].as_str()), (CLIENT_ID, "code"));
    assert_eq!(asked["redirect_uri"], REDIRECT_URL);
    assert_eq!(asked["code_challenge_method"], "S256");
    assert!(asked["scope"].split(' ').any(|scope| scope == "openid"), "{asked:?}");
    let back = |query: &str| {
        (StatusCode::FOUND, [(header::LOCATION, format!("{REDIRECT_URL}?{query}"))]).into_response()
    };
    let subject = inner.at_the_browser.clone();
    if !inner.people.contains_key(&subject) {
        return back(&format!("error=access_denied&state={}", asked["state"]));
    }
    let code = format!("code-{}", inner.number());
    let (nonce, challenge) = (asked["nonce"].clone(), asked["code_challenge"].clone());
    inner.codes.insert(code.clone(), Code { subject, nonce, challenge });
    // Providers add parameters of their own.
    back(&format!("code={code}&state={}&session_state=x&iss=y", asked["state"]))
}

async fn token(State(inner): Shared, headers: HeaderMap, body: String) -> Response {
    let form = reqwest::Url::parse(&format!("http://form/?{body}")).unwrap();
    let asked: Parameters = form.query_pairs().into_owned().collect();
    let mut inner = inner.lock().unwrap();
    if inner.is_down {
        return (StatusCode::SERVICE_UNAVAILABLE, "<html>later</html>").into_response();
    }
    let refuse =
        |code: &str| (StatusCode::BAD_REQUEST, Json(json!({ "error": code }))).into_response();
    let known = format!("Basic {}", STANDARD.encode(format!("{CLIENT_ID}:{CLIENT_SECRET}")));
    if headers.get(header::AUTHORIZATION).is_none_or(|given| *given != known) {
        return refuse("invalid_client");
    }
    if asked["grant_type"] == "refresh_token" {
        inner.refreshed += 1;
        return match inner.refresh_tokens.remove(&asked["refresh_token"]) {
            Some(subject) if inner.people.contains_key(&subject) => {
                Json(inner.tokens(&subject, None)).into_response()
            }
            _ => refuse("invalid_grant"),
        };
    }
    let Some(code) = inner.codes.remove(&asked["code"]) else { return refuse("invalid_grant") };
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(asked["code_verifier"].as_bytes()));
    if challenge != code.challenge || asked["redirect_uri"] != REDIRECT_URL {
        return refuse("invalid_grant");
    }
    Json(inner.tokens(&code.subject, Some(&code.nonce))).into_response()
}
