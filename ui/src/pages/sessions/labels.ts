/** What changes when somebody labels a session: names of questions to ask again. */
export const LABELLED = ["labels", "agreement", "review-queue", "learned-judge", "estimated-success"];
