// Schema of a Disruption's status: the fields of the seed (targets, specHash, injectionStatus) and the fields that
// today's clients read. The texts are the descriptions in the CRD, which `kubectl explain` shows. In this file, a kind
// is a disruption kind, such as the network disruption. Wire format: spec/chaos.md 1.7.

import {
  anyMap,
  conditionsField,
  flag,
  integer,
  list,
  mapOf,
  oneOf,
  record,
  text,
  timestamp,
  type ValueOf,
} from '../../../kit/index.ts'
import { INJECTION_STATUSES, TARGET_INJECTION_STATUSES } from '../../contract.ts'

const targetInjection = record('One kind on one target.', {
  injectorPodName: text('The chaos pod.'),
  injectionStatus: oneOf('What became of it.', TARGET_INJECTION_STATUSES),
  since: timestamp('When it was injected first.'),
  simulated: flag('Whether nothing is disturbed, because the target has no process; only in pawl dev.'),
  message: text('The reason why the target is not injected, or the simulated commands, as the injector reports them.'),
})

const targetState = record('One target.', {
  // The restart count of each container from which further restarts count: at the first observation, or at the last
  // report (target-events.ts, O3).
  restarts: mapOf('From how many restarts on more are counted, by container.', integer('So many.', { minimum: 0 })),
  // Reasons of recorded Warning Events, until the trouble ends.
  warnings: list('Reasons of events that were told of it, and hold.', text('A reason.')),
})

const counter = (description: string) => integer(description, { minimum: 0 })

export const statusField = record('What came of it.', {
  // The hash and the spec of the first pass. Later edits have no effect, except for `count` with dynamic targeting.
  specHash: text('The hash of the spec that is carried out; it is set once.'),
  originalSpec: anyMap('The spec that is carried out, as it was when the hash was made.'),
  chaosNamespace: text('Where its chaos pods are: what was configured when it was first looked at.'),
  injectionStatus: oneOf('How much of it is injected.', INJECTION_STATUSES),
  sparedNodes: list(
    'Nodes that are not disturbed because a worker runs there, or did when it looked at this Disruption.',
    text('The name of a node.'),
  ),
  // In alphabetical order. Lost targets stay in the list.
  targets: list('The pods or nodes that are disturbed, or were, in order.', text('The name of a target.')),
  // The lost targets: a user has deleted their chaos pods (choose-targets.ts, I1).
  ignoredTargets: list(
    'With static targeting: those whose chaos pods were taken away, which are not replaced.',
    text('The name of a target.'),
  ),
  targetInjections: mapOf('What became of each target.', mapOf('By the name of the kind.', targetInjection)),
  targetStates: mapOf('What was told of targets that are in trouble, by target.', targetState),
  selectedTargetsCount: counter('How many targets are chosen and not lost.'),
  // Not the length of `ignoredTargets`: also counts pods or nodes that match the selectors and are not targets.
  ignoredTargetsCount: counter('How many match and are not chosen, or were lost.'),
  injectedTargetsCount: counter('How many targets are disturbed in every way that is asked for.'),
  simulatedTargetsCount: counter('How many of the targets are only simulated; absent: none. Only in pawl dev.'),
  message: text('Why a target is not injected, or that targets are simulated.'),
  desiredTargetsCount: counter('How many targets there should be.'),
  // Each run creates the missing chaos pods of all targets and kinds.
  runCount: counter('How many times chaos pods were made.'),
  isStuckOnRemoval: flag('Whether a chaos pod could not clean up, which somebody has to do by hand.'),
  isInjected: flag('Left over from earlier versions; injectionStatus says it.'),
  cleanedAt: timestamp('When the last chaos pod was gone.'),
  conditions: conditionsField,
})

export type DisruptionStatus = ValueOf<typeof statusField>
export type TargetInjection = ValueOf<typeof targetInjection>
/** By target, then by the name of the kind. */
export type TargetInjections = NonNullable<DisruptionStatus['targetInjections']>
