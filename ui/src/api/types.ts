/** The specification's shapes under the names that pages use. */
import type { Schemas } from "./client.ts";

export type Overview = Schemas["GetEvaluationOverviewResponse"];
export type ContextTiles = Schemas["ContextTile"];
export type Rule = Schemas["RuleAttributionRow"];
export type Scores = Schemas["ScoreDistribution"];
export type PartnerTile = Schemas["PartnerTileRow"];
export type SourceSet = Schemas["SourceSetEvaluationMetrics"];
export type ShadowTrend = Schemas["ShadowWinRateTrend"];
export type ShadowVerdict = Schemas["ShadowComparisonVerdict"];
export type Experiment = Schemas["RetrievalExperimentRecord"];
export type ArmMetrics = Schemas["RetrievalExperimentArmMetrics"];
export type Plan = Schemas["RetrievalExperimentPlan"];
export type Results = Schemas["RetrievalExperimentResultsResponse"];
