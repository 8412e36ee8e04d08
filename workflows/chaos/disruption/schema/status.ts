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

const targetInjection = record('The injection of a kind into a target.', {
  injectorPodName: text('The name of the chaos pod.'),
  injectionStatus: oneOf('The status of the injection.', TARGET_INJECTION_STATUSES),
  since: timestamp('The time of the first injection.'),
  simulated: flag('Whether nothing is disturbed, because the target has no process; only in pawl dev.'),
  message: text('The reason why the target is not injected, or the simulated commands, as the injector reports them.'),
})

const targetState = record('The observed trouble of a target.', {
  // The restart count of each container from which further restarts count: at the first observation, or at the last
  // report (target-events.ts, O3).
  restarts: mapOf(
    'The restart count from which further restarts are counted, by container.',
    integer('The restart count.', { minimum: 0 }),
  ),
  // Reasons of recorded Warning Events, until the trouble ends.
  warnings: list('The reasons of recorded Warning Events whose trouble has not ended.', text('A reason.')),
})

const counter = (description: string) => integer(description, { minimum: 0 })

export const statusField = record('The status of the Disruption.', {
  // The hash and the spec of the first pass. Later edits have no effect, except for `count` with dynamic targeting.
  specHash: text('The hash of originalSpec; set once.'),
  originalSpec: anyMap('The spec that the controller uses: the spec at the first observation.'),
  chaosNamespace: text('The namespace of the chaos pods: the configured namespace at the first observation.'),
  injectionStatus: oneOf('The progress of the injection.', INJECTION_STATUSES),
  sparedNodes: list(
    'Nodes that are not disturbed because a worker runs there, or ran there when it observed this Disruption.',
    text('The name of a node.'),
  ),
  // In alphabetical order. Lost targets stay in the list.
  targets: list('The pods or nodes that are or were disturbed, in alphabetical order.', text('The name of a target.')),
  // The lost targets: a user has deleted their chaos pods (choose-targets.ts, I1).
  ignoredTargets: list(
    'With static targeting: targets whose chaos pods a user has deleted. They are not replaced.',
    text('The name of a target.'),
  ),
  targetInjections: mapOf(
    'The injections by target.',
    mapOf('The injections by the name of the kind.', targetInjection),
  ),
  targetStates: mapOf('The trouble that Events have reported, by target.', targetState),
  selectedTargetsCount: counter('The number of chosen targets that are not lost.'),
  // Not the length of `ignoredTargets`: also counts pods or nodes that match the selectors and are not targets.
  ignoredTargetsCount: counter('The number of pods or nodes that match and are not targets, or are lost targets.'),
  injectedTargetsCount: counter('The number of targets that all kinds of the spec disturb.'),
  simulatedTargetsCount: counter('The number of targets that are only simulated; absent: none. Only in pawl dev.'),
  message: text('Why a target is not injected, that targets are simulated, or when the deletion ends.'),
  desiredTargetsCount: counter('The desired number of targets.'),
  // Each run creates the missing chaos pods of all targets and kinds.
  runCount: counter('How many times chaos pods were created.'),
  isStuckOnRemoval: flag('Whether a chaos pod could not clean up, so that a user must clean up by hand.'),
  isInjected: flag('Deprecated: use injectionStatus.'),
  cleanedAt: timestamp('When the last chaos pod was deleted.'),
  conditions: conditionsField,
})

export type DisruptionStatus = ValueOf<typeof statusField>
export type TargetInjection = ValueOf<typeof targetInjection>
/** By target, then by the name of the kind. */
export type TargetInjections = NonNullable<DisruptionStatus['targetInjections']>
