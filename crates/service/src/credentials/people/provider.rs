//! The OpenID Connect provider: its metadata and keys, and the tokens that it hands out.
//!
//! Authorization code with PKCE, state and nonce. ID tokens are verified by `openidconnect`: signature (never a shared
//! secret, never none), issuer, audience, time and nonce.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::BoxFuture;
use openidconnect::core::{
    CoreAuthenticationFlow, CoreClient, CoreClientAuthMethod, CoreErrorResponseType, CoreIdToken,
    CoreJwsSigningAlgorithm, CoreProviderMetadata, CoreTokenResponse,
};
use openidconnect::{
    AuthType, AuthorizationCode, ClaimsVerificationError, ClientId, ClientSecret, CsrfToken,
    EndpointMaybeSet, EndpointNotSet, EndpointSet, HttpRequest, HttpResponse, IssuerUrl, Nonce,
    OAuth2TokenResponse, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RefreshToken,
    RequestTokenError, Scope, StandardErrorResponse, TokenResponse,
};
use secrecy::ExposeSecret;
use serde_json::Value;

use super::SignInProblem;
use super::attempt::Attempt;
use super::identity::{self, Identity};
use crate::config::Oidc;

/// Metadata and keys are asked for anew after this time, and at once when a signature does not fit.
const METADATA_SECONDS: i64 = 600;
/// The longest time that one request to the provider may take.
const PATIENCE: Duration = Duration::from_secs(10);

const ALGORITHMS: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

type Client = CoreClient<
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

type Answer = BoxFuture<'static, io::Result<HttpResponse>>;

/// Failure to prove who somebody is, with a reason for the log that names nobody.
#[derive(Debug)]
pub enum Unproven {
    /// The provider answered, and the answer is no.
    Refused(SignInProblem, String),
    /// The provider did not answer, or not as a provider does.
    Unreachable(String),
}

/// A person that the provider vouches for.
pub struct Proven {
    /// Missing when a refresh brought no ID token: what was known stays true.
    pub identity: Option<Identity>,
    pub refresh_token: Option<String>,
}

pub struct Provider {
    settings: Oidc,
    http: reqwest::Client,
    metadata: Mutex<Option<(i64, Arc<CoreProviderMetadata>)>>,
}

impl Provider {
    /// The provider that the settings name, if they do.
    pub fn open(settings: &Oidc) -> Result<Option<Self>, String> {
        if !settings.is_configured() {
            return Ok(None);
        }
        let http = reqwest::Client::builder()
            .timeout(PATIENCE)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("evenhand/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|e| format!("oidc: {e}"))?;
        Ok(Some(Provider { settings: settings.clone(), http, metadata: Mutex::default() }))
    }

    /// Asks for metadata and keys, as a sign-in would.
    pub async fn check(&self, now: i64) -> Result<(), String> {
        self.metadata(now, true).await.map(drop).map_err(|unproven| match unproven {
            Unproven::Refused(_, why) | Unproven::Unreachable(why) => why,
        })
    }

    /// The address that an attempt begins at.
    pub async fn begin(&self, now: i64, attempt: &Attempt) -> Result<String, Unproven> {
        let client = self.client(now, false).await?;
        let (state, nonce) = (attempt.state.clone(), attempt.nonce.clone());
        let verifier = PkceCodeVerifier::new(attempt.verifier.clone());
        let (url, _, _) = client
            .authorize_url(
                CoreAuthenticationFlow::AuthorizationCode,
                move || CsrfToken::new(state),
                move || Nonce::new(nonce),
            )
            .add_scopes(self.settings.scopes.iter().cloned().map(Scope::new))
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier))
            .url();
        Ok(url.into())
    }

    /// The person who came back with `code`.
    pub async fn exchange(
        &self,
        now: i64,
        code: String,
        attempt: &Attempt,
    ) -> Result<Proven, Unproven> {
        let client = self.client(now, false).await?;
        let request = client.exchange_code(AuthorizationCode::new(code)).map_err(not_whole)?;
        let request = request.set_pkce_verifier(PkceCodeVerifier::new(attempt.verifier.clone()));
        let tokens = request.request_async(&self.sender()).await.map_err(token_error)?;
        let proven = self.proven(now, &tokens, Some(&Nonce::new(attempt.nonce.clone()))).await?;
        match proven.identity {
            Some(_) => Ok(proven),
            None => Err(refused("the provider gave no ID token")),
        }
    }

    /// Asks whether the person behind a refresh token is still there, and as what.
    pub async fn refresh(
        &self,
        now: i64,
        refresh_token: String,
        subject: &str,
    ) -> Result<Proven, Unproven> {
        let client = self.client(now, false).await?;
        let refresh_token = RefreshToken::new(refresh_token);
        let request = client.exchange_refresh_token(&refresh_token).map_err(not_whole)?;
        let tokens = request.request_async(&self.sender()).await.map_err(token_error)?;
        let proven = self.proven(now, &tokens, None).await?;
        if proven.identity.as_ref().is_some_and(|identity| identity.subject != subject) {
            return Err(refused("the refreshed ID token is another person's"));
        }
        Ok(proven)
    }

    async fn proven(
        &self,
        now: i64,
        tokens: &CoreTokenResponse,
        nonce: Option<&Nonce>,
    ) -> Result<Proven, Unproven> {
        let identity = match tokens.id_token() {
            None => None,
            Some(token) => {
                let claims = self.verified(now, token, nonce).await?;
                let admitted = identity::admitted(&claims, &self.settings);
                Some(admitted.map_err(|why| Unproven::Refused(why, why.to_string()))?)
            }
        };
        let refresh_token = tokens.refresh_token().map(|token| token.secret().clone());
        Ok(Proven { identity, refresh_token })
    }

    /// The claims of an ID token that is good. A refreshed one need not repeat the nonce.
    async fn verified(
        &self,
        now: i64,
        token: &CoreIdToken,
        nonce: Option<&Nonce>,
    ) -> Result<Value, Unproven> {
        let verify = |client: &Client| {
            let since = Duration::from_secs(now.unsigned_abs());
            let verifier = client
                .id_token_verifier()
                .set_allowed_algs(ALGORITHMS)
                .set_time_fn(move || (UNIX_EPOCH + since).into());
            match nonce {
                Some(nonce) => token.claims(&verifier, nonce).map(|_| ()),
                None => token.claims(&verifier, |_: Option<&Nonce>| Ok(())).map(|_| ()),
            }
        };
        let mut result = verify(&self.client(now, false).await?);
        if matches!(result, Err(ClaimsVerificationError::SignatureVerification(_))) {
            // The provider may have new keys.
            result = verify(&self.client(now, true).await?);
        }
        result.map_err(|error| refused(&format!("the ID token is not good: {error}")))?;
        payload(token).ok_or_else(|| refused("the ID token holds no claims"))
    }

    async fn client(&self, now: i64, anew: bool) -> Result<Client, Unproven> {
        let metadata = self.metadata(now, anew).await?;
        let methods = metadata.token_endpoint_auth_methods_supported();
        let takes = |method| methods.is_some_and(|methods| methods.contains(&method));
        let by_post = takes(CoreClientAuthMethod::ClientSecretPost)
            && !takes(CoreClientAuthMethod::ClientSecretBasic);
        let secret = self.settings.client_secret.expose_secret();
        let secret = (!secret.is_empty()).then(|| ClientSecret::new(secret.to_owned()));
        let redirect_url = RedirectUrl::new(self.settings.redirect_url.clone());
        let redirect_url = redirect_url.map_err(|e| unreachable(&format!("redirect_url: {e}")))?;
        let client_id = ClientId::new(self.settings.client_id.clone());
        let client = CoreClient::from_provider_metadata((*metadata).clone(), client_id, secret)
            .set_redirect_uri(redirect_url);
        Ok(if by_post { client.set_auth_type(AuthType::RequestBody) } else { client })
    }

    async fn metadata(&self, now: i64, anew: bool) -> Result<Arc<CoreProviderMetadata>, Unproven> {
        let known = self.metadata.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((at, metadata)) = known
            && !anew
            && now - at < METADATA_SECONDS
        {
            return Ok(metadata);
        }
        let issuer = IssuerUrl::new(self.settings.issuer.clone());
        let issuer = issuer.map_err(|e| unreachable(&format!("oidc.issuer: {e}")))?;
        let found = CoreProviderMetadata::discover_async(issuer, &self.sender()).await;
        let found = found.map_err(|e| unreachable(&format!("its metadata: {}", causes(&e))))?;
        let found = Arc::new(found);
        let mut known = self.metadata.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some((now, found.clone()));
        Ok(found)
    }

    fn sender(&self) -> impl Fn(HttpRequest) -> Answer + Send + Sync {
        let http = self.http.clone();
        move |request| -> Answer { Box::pin(send(http.clone(), request)) }
    }
}

async fn send(http: reqwest::Client, request: HttpRequest) -> io::Result<HttpResponse> {
    let request = reqwest::Request::try_from(request).map_err(io::Error::other)?;
    let response = http.execute(request).await.map_err(io::Error::other)?;
    let (status, headers) = (response.status(), response.headers().clone());
    let body = response.bytes().await.map_err(io::Error::other)?;
    let mut answer = HttpResponse::new(body.into());
    *answer.status_mut() = status;
    *answer.headers_mut() = headers;
    Ok(answer)
}

/// The claims as they are written in a token that was verified.
fn payload(token: &CoreIdToken) -> Option<Value> {
    let token = token.to_string();
    let bytes = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    serde_json::from_slice(&bytes).ok().filter(Value::is_object)
}

fn refused(why: &str) -> Unproven {
    Unproven::Refused(SignInProblem::Refused, why.to_owned())
}

fn unreachable(why: &str) -> Unproven {
    Unproven::Unreachable(why.to_owned())
}

fn not_whole(error: openidconnect::ConfigurationError) -> Unproven {
    unreachable(&format!("its metadata is not whole: {error}"))
}

fn token_error(
    error: RequestTokenError<io::Error, StandardErrorResponse<CoreErrorResponseType>>,
) -> Unproven {
    match &error {
        RequestTokenError::ServerResponse(answer) => match answer.error() {
            CoreErrorResponseType::Extension(code)
                if matches!(code.as_str(), "server_error" | "temporarily_unavailable") =>
            {
                unreachable(&format!("it answered {code}"))
            }
            code => refused(&format!("it answered {code}")),
        },
        _ => unreachable(&format!("its tokens: {}", causes(&error))),
    }
}

/// An error with what caused it.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
