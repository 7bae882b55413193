//! Evidence for and against success by rules: small sessions in the languages whose words they know. The user speaks
//! first, then they take turns.

use judge::prompts::Kind;
use judge::verdicts::SessionVerdict;
use judge::{Context, Turn};

use super::{offline, rubric, talk};

fn session(said: &[&str]) -> Vec<Turn> {
    let roles = ["User", "Assistant"].into_iter().cycle();
    talk(&roles.zip(said.iter().copied()).collect::<Vec<_>>())
}

async fn verdict(turns: &[Turn]) -> SessionVerdict {
    let grader = offline();
    grader.session(rubric(Kind::SessionSuccess), &Context::default(), turns).await.unwrap().verdict
}

/// Judges each session; names those that came out otherwise.
async fn expect(is_success: bool, sessions: &[&[&str]]) {
    let mut others = Vec::new();
    for said in sessions {
        let verdict = verdict(&session(said)).await;
        if verdict.is_success != is_success {
            others.push(format!("{said:?}: {}", verdict.failure_reason));
        }
    }
    assert!(others.is_empty(), "expected is_success {is_success}:\n{}", others.join("\n"));
}

#[tokio::test]
async fn thanks_inside_a_request_are_none_for_its_answer() {
    expect(
        false,
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
        false,
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
        false,
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
        false,
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
                "Where is it?",
                "It was delivered.",
                "Useless. Please find it, thanks!",
                "It was delivered.",
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
        true,
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
        true,
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
