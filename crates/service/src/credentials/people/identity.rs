//! From the claims of an ID token to a person with a role and organizations.

use base::owner::OrgId;
use serde_json::Value;

use super::{Person, SignInProblem};
use crate::config::Oidc;
use crate::config::oidc::is_organization;
use crate::credentials::Role;

/// Organizations of one person that are kept.
const ORGANIZATIONS: usize = 100;
/// Characters of a name or an address that are kept.
const NAME_LENGTH: usize = 255;

base::vocabulary! {
    /// A person's role, by the names of the sign-in settings.
    pub enum PersonRole {
        Viewer = "viewer",
        Editor = "editor",
        Governance = "governance",
        Admin = "admin",
    }
}

impl PersonRole {
    /// The role of a credential that may do the same.
    pub fn role(self) -> Role {
        match self {
            PersonRole::Viewer => Role::Auditor,
            PersonRole::Editor | PersonRole::Admin => Role::Dashboard,
            PersonRole::Governance => Role::Governance,
        }
    }

    /// True if it exports and erases.
    pub fn governs(self) -> bool {
        matches!(self, PersonRole::Governance | PersonRole::Admin)
    }
}

/// A person who may come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub subject: String,
    pub person: Person,
    pub role: PersonRole,
    /// Never empty.
    pub organizations: Vec<OrgId>,
}

/// The person behind verified claims, if they have a role and an organization here.
pub fn admitted(claims: &Value, settings: &Oidc) -> Result<Identity, SignInProblem> {
    let subject = claims["sub"].as_str().ok_or(SignInProblem::Refused)?.to_owned();
    let role = role(claims, settings).ok_or(SignInProblem::NoRole)?;
    let organizations = organizations(claims, settings);
    if organizations.is_empty() {
        return Err(SignInProblem::NoOrganization);
    }
    let text = |name: &str| {
        let text = claims[name].as_str().map(str::trim).filter(|text| !text.is_empty())?;
        Some(text.chars().take(NAME_LENGTH).collect::<String>())
    };
    let email = text("email");
    let name = text("name").or_else(|| text("preferred_username")).or_else(|| email.clone());
    let person = Person { name: name.unwrap_or_else(|| subject.clone()), email };
    Ok(Identity { subject, person, role, organizations })
}

fn role(claims: &Value, settings: &Oidc) -> Option<PersonRole> {
    // An address that nobody checked is whatever its owner typed.
    if settings.role_claim == "email" && claims["email_verified"] != Value::Bool(true) {
        return None;
    }
    let given = values(claims, &settings.role_claim);
    let has = |listed: &[String]| {
        given.iter().any(|value| listed.iter().any(|one| one == value || one == "*"))
    };
    let (editor, governance) = (has(&settings.editors), has(&settings.governance));
    if has(&settings.admins) || editor && governance {
        return Some(PersonRole::Admin);
    }
    match (editor, governance) {
        (true, _) => Some(PersonRole::Editor),
        (_, true) => Some(PersonRole::Governance),
        _ => has(&settings.viewers).then_some(PersonRole::Viewer),
    }
}

fn organizations(claims: &Value, settings: &Oidc) -> Vec<OrgId> {
    if settings.organization_claim.is_empty() {
        return vec![settings.organization.as_str().into()];
    }
    let mut organizations: Vec<OrgId> = Vec::new();
    for one in values(claims, &settings.organization_claim) {
        if is_organization(one) && !organizations.iter().any(|known| known.as_str() == one) {
            organizations.push(one.into());
        }
    }
    organizations.truncate(ORGANIZATIONS);
    organizations
}

/// The texts of a claim: one, or a list. A name with dots is the claim's own, or else leads into objects.
fn values<'a>(claims: &'a Value, name: &str) -> Vec<&'a str> {
    let inner = || name.split('.').try_fold(claims, |value, part| value.get(part));
    match claims.get(name).or_else(inner) {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;
    use serde_json::json;

    fn settings() -> Oidc {
        let mut oidc = Settings::defaults().unwrap().oidc;
        let list = |value: &str| vec![value.to_owned()];
        (oidc.viewers, oidc.editors) = (list("look"), list("run"));
        (oidc.governance, oidc.admins) = (list("forget"), list("all"));
        oidc
    }

    fn role_of(settings: &Oidc, claims: Value) -> Option<PersonRole> {
        role(&claims, settings)
    }

    #[test]
    fn the_most_that_a_persons_roles_allow_is_theirs() {
        let of = |roles: Value| role_of(&settings(), json!({ "roles": roles }));
        assert_eq!(of(json!("look")), Some(PersonRole::Viewer));
        assert_eq!(of(json!(["other", "run", "look"])), Some(PersonRole::Editor));
        assert_eq!(of(json!(["forget", "look"])), Some(PersonRole::Governance));
        assert_eq!(of(json!(["forget", "run"])), Some(PersonRole::Admin));
        assert_eq!(of(json!(["all"])), Some(PersonRole::Admin));
        for none in [json!([]), json!(["LOOK"]), json!("lookout"), json!(7), json!({"look": true})]
        {
            assert_eq!(of(none.clone()), None, "{none}");
        }
        assert_eq!(role_of(&settings(), json!({})), None);
    }

    #[test]
    fn a_star_is_any_value_of_the_claim_and_not_its_absence() {
        let settings = Oidc { viewers: vec!["*".to_owned()], ..settings() };
        assert_eq!(role_of(&settings, json!({"roles": "x"})), Some(PersonRole::Viewer));
        assert_eq!(role_of(&settings, json!({"roles": []})), None);
        assert_eq!(role_of(&settings, json!({})), None);
    }

    #[test]
    fn a_dot_leads_into_an_object_unless_the_name_has_it() {
        let settings = Oidc { role_claim: "realm_access.roles".to_owned(), ..settings() };
        let inside = json!({"realm_access": {"roles": ["run"]}});
        assert_eq!(role_of(&settings, inside), Some(PersonRole::Editor));
        let settings = Oidc { role_claim: "https://a.example/roles".to_owned(), ..settings };
        let named = json!({"https://a.example/roles": ["look"]});
        assert_eq!(role_of(&settings, named), Some(PersonRole::Viewer));
    }

    #[test]
    fn an_address_counts_only_if_the_provider_checked_it() {
        let settings = Oidc { role_claim: "email".to_owned(), ..settings() };
        let of = |verified: Value| {
            role_of(&settings, json!({"email": "look", "email_verified": verified}))
        };
        assert_eq!(of(json!(true)), Some(PersonRole::Viewer));
        assert_eq!((of(json!(false)), of(json!("true")), of(json!(null))), (None, None, None));
    }

    #[test]
    fn organizations_are_fixed_or_those_of_the_claim() {
        let claims = json!({"sub": "1", "roles": "look", "orgs": ["a", "b", "a", "", " c", 7]});
        let fixed = admitted(&claims, &settings()).unwrap();
        assert_eq!(fixed.organizations, [OrgId::from("default")]);
        assert_eq!(fixed.person, Person { name: "1".to_owned(), email: None });
        let by_claim = Oidc { organization_claim: "orgs".to_owned(), ..settings() };
        let found = admitted(&claims, &by_claim).unwrap();
        assert_eq!(found.organizations, [OrgId::from("a"), OrgId::from("b")]);
        let none = json!({"sub": "1", "roles": "look"});
        assert_eq!(admitted(&none, &by_claim), Err(SignInProblem::NoOrganization));
    }
}
