//! Evidence for and against success by rules: small sessions in the languages whose words they know. Without evidence
//! a session is undecided.

use judge::{Outcome, ToolCall, Turn, UndecidedReason};
use serde_json::json;

use super::{rules, session, verdict};

/// Judges each session; names those that came out otherwise.
async fn expect(outcomes: &[Outcome], sessions: &[&[&str]]) {
    let grader = rules();
    let mut others = Vec::new();
    for said in sessions {
        let verdict = verdict(&grader, &session(said)).await;
        if !outcomes.contains(&verdict.outcome) {
            others.push(format!("{said:?}: {} {}", verdict.outcome, verdict.failure_reason));
        }
    }
    assert!(others.is_empty(), "expected {outcomes:?}:\n{}", others.join("\n"));
}

const FAILURE: &[Outcome] = &[Outcome::Failure];
const NO_SUCCESS: &[Outcome] = &[Outcome::Failure, Outcome::Undecided];
const NO_FAILURE: &[Outcome] = &[Outcome::Success, Outcome::Undecided];

#[tokio::test]
async fn thanks_inside_a_request_are_none_for_its_answer() {
    expect(
        FAILURE,
        &[
            &["Please cancel order 4711. Thanks!", "I could not cancel."],
            &["Please cancel order 4711. Thanks!", "I was unable to cancel the order."],
            &["Cancel order 4711, thank you.", "I'm afraid I wasn't able to cancel it."],
            &[
                "Where is my parcel?",
                "It arrives on Tuesday.",
                "Great, thanks! Please send it to Elm Street instead.",
                "I could not change the address.",
            ],
            &["Thanks in advance for cancelling order 4711!", "We could not find that order."],
            &[
                "Bitte storniere Bestellung 4711. Danke!",
                "Ich konnte die Bestellung nicht stornieren.",
            ],
            &[
                "Annulez la commande 4711, s'il vous plaît. Merci !",
                "Je n'ai pas pu annuler la commande.",
            ],
            &["Cancele el pedido 4711, por favor. ¡Gracias!", "No pude cancelar el pedido."],
            &["Cancele o pedido 4711, por favor. Obrigado!", "Não consegui cancelar o pedido."],
            &[
                "Annulla l'ordine 4711, per favore. Grazie!",
                "Non sono riuscito ad annullare l'ordine.",
            ],
            &["请取消订单4711。谢谢！", "我未能取消该订单。"],
            &["注文4711をキャンセルしてください。ありがとう！", "キャンセルできませんでした。"],
            &["주문 4711을 취소해 주세요. 감사합니다!", "주문을 취소하지 못했습니다."],
            &["Отмените заказ 4711, пожалуйста. Спасибо!", "Не удалось отменить заказ."],
        ],
    )
    .await;
}

#[tokio::test]
async fn good_manners_do_not_turn_a_vain_attempt_into_a_success() {
    expect(
        FAILURE,
        &[
            &["Cancel order 4711.", "I could not cancel order 4711.", "Okay, thanks."],
            &["Cancel order 4711.", "I could not cancel it.", "Thanks anyway."],
            &[
                "Cancel order 4711.",
                "I could not cancel it.",
                "Thanks.",
                "You're welcome! Have a nice day.",
            ],
            &["Storniere Bestellung 4711.", "Ich konnte sie leider nicht stornieren.", "Danke."],
            &["Cancele el pedido 4711.", "No he podido cancelarlo.", "Vale, gracias."],
            &["Отмените заказ 4711.", "Мне не удалось отменить заказ.", "Спасибо."],
        ],
    )
    .await;
}

#[tokio::test]
async fn thanks_with_a_wish_that_nobody_answered_are_no_success() {
    let wish = "Great, thanks! Can you send the invoice, too?";
    expect(
        NO_SUCCESS,
        &[
            &["Where is my parcel?", "It arrives on Tuesday.", wish],
            &[
                "Wo ist mein Paket?",
                "Es kommt am Dienstag.",
                "Danke! Bitte auch die Rechnung schicken.",
            ],
        ],
    )
    .await;
}

#[tokio::test]
async fn a_complaint_stands_until_the_user_takes_it_back() {
    let sorry = "I apologize for the inconvenience.";
    expect(
        FAILURE,
        &[
            &[
                "How do I reset it?",
                "Hold the button.",
                "That did not work, this is useless.",
                sorry,
            ],
            &["How do I reset it?", "Hold the button.", "Still not working.", sorry, "Bye."],
            &[
                "How do I reset it?",
                "Hold the button.",
                "Not helpful.",
                sorry,
                "What are your hours?",
                "9 to 5.",
            ],
            &[
                "How do I reset it?",
                "Hold the button.",
                "That's wrong, it should be the red one.",
                sorry,
            ],
            &[
                "Your update deleted my photos, unacceptable!",
                "I'm sorry for the inconvenience, Kim.",
            ],
            &[
                "Wie setze ich es zurück?",
                "Knopf drücken.",
                "Das funktioniert nicht.",
                "Das tut mir leid.",
            ],
            &["Comment le réinitialiser ?", "Appuyez.", "Ça ne marche pas.", "Toutes mes excuses."],
            &["¿Cómo lo reinicio?", "Pulse el botón.", "No funciona.", "Lamento las molestias."],
            &[
                "Como reinicio?",
                "Pressione o botão.",
                "Não funciona.",
                "Peço desculpas pelo transtorno.",
            ],
            &[
                "Come lo resetto?",
                "Premi il tasto.",
                "Non funziona.",
                "Mi dispiace per il disagio.",
            ],
            &["怎么重置？", "按住按钮。", "没用。", "非常抱歉。"],
            &["リセット方法は？", "ボタンを押します。", "役に立たない。", "申し訳ございません。"],
            &["어떻게 초기화해요?", "버튼을 누르세요.", "안 돼요.", "죄송합니다."],
            &["Как его сбросить?", "Нажмите кнопку.", "Не помогло.", "Приносим извинения."],
        ],
    )
    .await;
    expect(
        NO_FAILURE,
        &[
            &[
                "How do I reset it?",
                "Hold the button.",
                "That did not work.",
                "For 10 seconds.",
                "It works now!",
            ],
            &[
                "How do I reset it?",
                "Hold it.",
                "That's wrong.",
                "It is in the manual.",
                "Oh, my mistake.",
            ],
            &[
                "How do I reset it?",
                "Hold it.",
                "Not helpful.",
                "For 10 seconds.",
                "Thanks. Your hours?",
                "9 to 5.",
            ],
            // A correction that was followed is none to be taken back.
            &[
                "Book the 4th.",
                "Booked the 14th.",
                "That's wrong, it should be the 4th.",
                "Sorry, it is booked for the 4th now.",
            ],
            &[
                "Wo ist es?",
                "Im Lager.",
                "Das stimmt nicht.",
                "Doch, Regal 4.",
                "Danke, mein Fehler.",
            ],
            // The matter itself.
            &["My lamp is broken, what can I do?", "A new one is on its way to you."],
            &[
                "I want to return it.",
                "What is wrong with it?",
                "It is broken.",
                "The label is in your inbox.",
            ],
        ],
    )
    .await;
}

#[tokio::test]
async fn thanks_after_the_answer_that_did_it_are_believed() {
    expect(
        NO_FAILURE,
        &[
            &["Please cancel order 4711. Thanks!", "Order 4711 is cancelled."],
            &["Please cancel order 4711. Thanks!", "Order 4711 is cancelled.", "Thank you!"],
            &[
                "Cancel order 4711.",
                "It is cancelled.",
                "Thanks!",
                "You're welcome! Have a nice day.",
            ],
            &["Cancel order 4711.", "It is cancelled. Anything else?", "No."],
            &[
                "Cancel order 4711.",
                "It is cancelled. Anything else?",
                "No, that's all I need, thank you.",
            ],
            &[
                "Cancel order 4711.",
                "It is cancelled.",
                "I would like to thank you, that was quick.",
            ],
            &[
                "Ship it by Monday?",
                "We could not, but you can choose Tuesday.",
                "Tuesday is fine, thanks.",
            ],
            &["Reset it.", "I could not reach it. Switch it off and on.", "That worked, thanks!"],
            &[
                "Bitte storniere Bestellung 4711. Danke!",
                "Ich konnte die Bestellung stornieren.",
                "Vielen Dank!",
            ],
            &["Annulez la commande 4711.", "C'est fait, elle est annulée.", "Merci !", "De rien."],
            &["Cancele el pedido 4711.", "El pedido está cancelado.", "¡Muchas gracias!"],
            &["Cancele o pedido 4711.", "Pedido cancelado.", "Obrigada!", "De nada!"],
            &["Annulla l'ordine 4711.", "L'ordine è annullato.", "Grazie mille!", "Prego!"],
            &["请取消订单4711。", "订单已取消。", "谢谢！", "不客气！"],
            &[
                "注文4711をキャンセルしてください。",
                "キャンセルしました。",
                "ありがとうございます。",
            ],
            &["주문 4711을 취소해 주세요.", "취소했습니다.", "감사합니다!"],
            &["Отмените заказ 4711.", "Заказ отменён.", "Спасибо!", "Не за что."],
        ],
    )
    .await;
}

/// Sessions that a judge of a few words called successes.
#[tokio::test]
async fn the_minimal_sessions_are_no_successes() {
    expect(
        NO_SUCCESS,
        &[
            &["Please cancel order 4711. Thanks!", "I could not cancel the order."],
            &["Cancel order 4711.", "I could not find an order with that number."],
            &["Cancel order 4711.", "Do you want me to cancel it?", "Yes."],
            &["Cancel order 4711.", "Shall I cancel order 4711 and refund you?"],
            &[
                "Where is it?",
                "It was delivered.",
                "Useless. Please find it, thanks!",
                "It was delivered.",
            ],
            &["Who can repair it?", "I am not sure.", "Great, so nobody knows."],
            &[
                "Where is it?",
                "It was delivered.",
                "No, it was not, this is wrong.",
                "I am so sorry!",
            ],
            &["मेरा पार्सल कहाँ है?", "कल पहुँच गया।", "यह गलत है, मुझे नहीं मिला।"],
            &["Gdzie jest moja paczka?", "Dostarczona.", "To nieprawda, nie dostałem jej."],
            &["Waar is mijn pakket?", "Bezorgd.", "Dat klopt niet, ik heb het niet gekregen."],
        ],
    )
    .await;
}

#[tokio::test]
async fn thanks_alone_are_no_evidence_and_a_user_who_says_it_is_done_is() {
    let grader = rules();
    let polite = ["Where is it?", "It comes on Tuesday.", "Thanks!"];
    let polite = verdict(&grader, &session(&polite)).await;
    assert_eq!(polite.undecided_reason, Some(UndecidedReason::NoEvidence));
    let done = ["Reset it.", "Hold the button for 10 seconds.", "It works now, thanks!"];
    assert_eq!(verdict(&grader, &session(&done)).await.outcome, Outcome::Success);
    for early in [
        "I will tell you if it works.",
        "It works, but the other one is still broken.",
        "Once that is solved I am happy.",
        "Has it been solved?",
        "Nothing is solved.",
    ] {
        let verdict = verdict(&grader, &session(&["Reset it.", "Hold it.", early])).await;
        assert_ne!(verdict.outcome, Outcome::Success, "{early}");
    }
}

fn with_calls(calls: &[(&str, &str)]) -> Vec<Turn> {
    let mut turns = session(&["Cancel order 4711.", "Let me see.", "Thanks."]);
    turns[1].tools = calls
        .iter()
        .map(|(name, status)| ToolCall {
            name: (*name).to_owned(),
            data: json!({}),
            status: (*status).to_owned(),
        })
        .collect();
    turns
}

#[tokio::test]
async fn a_change_that_failed_and_was_not_repaired_is_a_failure() {
    let grader = rules();
    for (calls, outcome) in [
        (vec![("cancel_order", "error")], Outcome::Failure),
        (vec![("cancel_order", "error"), ("get_order", "success")], Outcome::Failure),
        (vec![("cancel_order", "error"), ("cancel_order", "success")], Outcome::Undecided),
        (vec![("cancel_order", "success"), ("get_order", "error")], Outcome::Undecided),
    ] {
        assert_eq!(verdict(&grader, &with_calls(&calls)).await.outcome, outcome, "{calls:?}");
    }
}

#[tokio::test]
async fn a_hand_over_is_recorded_and_no_evidence() {
    let grader = rules();
    let said = ["Cancel it.", "I am transferring you to a colleague.", "Okay."];
    let verdict = verdict(&grader, &session(&said)).await;
    assert!(verdict.is_escalated);
    assert_eq!(verdict.undecided_reason, Some(UndecidedReason::HandedOver));
}

#[tokio::test]
async fn rules_do_not_compare_responses() {
    let rubric = judge::prompts::newest(judge::prompts::Kind::ShadowComparison).unwrap();
    let context = judge::Context::default();
    let turns = session(&["Where is it?"]);
    let error = rules().shadow(rubric, &context, &turns, "Here.", "There.").await.unwrap_err();
    assert_eq!(error, judge::JudgeError::NeedsModel);
    assert!(error.is_temporary());
    assert_eq!(rules().state(), judge::JudgeState::Running);
}
