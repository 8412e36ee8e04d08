// The Disruption that a cron or a rollout makes: always of one name, so that there is one at a time and nothing is made twice. Its owner reference is put on
// by who creates it. Source: spec/chaos.md 2.12, 2.13.

import type { ObjectMeta } from '../kit/index.ts'
import {
  DISRUPTION_CRON_NAME_LABEL,
  DISRUPTION_ROLLOUT_NAME_LABEL,
  SCHEDULED_AT_ANNOTATION,
  USER_ANNOTATION,
  USER_GROUPS_ANNOTATION,
  USER_INFO_ANNOTATION,
} from './contract.ts'
import { instantMs, instantText } from './instant.ts'
import { fieldsOf, listOf, parsedJson, textOf } from './json-fields.ts'

const OF_PARENTS = {
  DisruptionCron: { prefix: 'disruption-cron-', label: DISRUPTION_CRON_NAME_LABEL },
  DisruptionRollout: { prefix: 'disruption-rollout-', label: DISRUPTION_ROLLOUT_NAME_LABEL },
} as const

/** What kubectl keeps of the parent is no annotation of the child; who made the parent it says in its own words. */
const NOT_COPIED = new Set(['kubectl.kubernetes.io/last-applied-configuration', USER_INFO_ANNOTATION])

interface Requirement {
  readonly key: string
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'
  readonly values?: readonly string[]
}

/** What is merged of a template: of the spec of a Disruption. */
export interface Selecting {
  readonly selector?: Readonly<Record<string, string>>
  readonly advancedSelector?: readonly Requirement[]
}

export interface Parent<Spec extends Selecting> {
  readonly kind: keyof typeof OF_PARENTS
  readonly metadata: Pick<ObjectMeta, 'name' | 'namespace' | 'annotations'>
  readonly spec: { readonly disruptionTemplate: Spec }
}

/** How the pods of a Deployment or StatefulSet are found, as its spec has it. */
export interface PodSelector {
  readonly matchLabels?: Readonly<Record<string, string>> | undefined
  readonly matchExpressions?: readonly {
    readonly key: string
    readonly operator: string
    readonly values?: readonly string[]
  }[]
}

export interface ChildDisruption<Spec> {
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly labels: Readonly<Record<string, string>>
    readonly annotations: Readonly<Record<string, string>>
  }
  readonly spec: Spec
}

export function childName({
  kind,
  metadata,
}: Pick<Parent<Selecting>, 'kind'> & { readonly metadata: { readonly name: string } }): string {
  return `${OF_PARENTS[kind].prefix}${metadata.name}`
}

/** @param scheduledAtMs the time of the schedule, or of the change, that it is made for. */
export function childDisruption<Spec extends Selecting>(
  parent: Parent<Spec>,
  selector: PodSelector,
  scheduledAtMs: number,
): ChildDisruption<Spec> {
  const { kind, metadata, spec } = parent
  const copied = Object.entries(metadata.annotations ?? {}).filter(([name]) => !NOT_COPIED.has(name))
  return {
    metadata: {
      name: childName(parent),
      namespace: metadata.namespace,
      labels: { [OF_PARENTS[kind].label]: metadata.name },
      annotations: {
        ...Object.fromEntries(copied),
        ...userOf(metadata.annotations?.[USER_INFO_ANNOTATION]),
        [SCHEDULED_AT_ANNOTATION]: instantText(scheduledAtMs),
      },
    },
    spec: withSelector(spec.disruptionTemplate, selector),
  }
}

/** For which time a child was made; undefined where it does not say. */
export function scheduledAtMs({
  metadata,
}: {
  readonly metadata: Pick<ObjectMeta, 'annotations'>
}): number | undefined {
  return instantMs(metadata.annotations?.[SCHEDULED_AT_ANNOTATION])
}

/** The pods of the target, and of these those that the template selects: none, where the two contradict each other. */
function withSelector<Spec extends Selecting>(
  template: Spec,
  { matchLabels = {}, matchExpressions = [] }: PodSelector,
): Spec {
  const { selector = {}, advancedSelector = [] } = template
  const contradicting = Object.entries(selector).filter(([key, value]) => (matchLabels[key] ?? value) !== value)
  const requirements = [
    ...advancedSelector,
    ...contradicting.map(([key, value]) => requirementOf({ key, operator: 'In', values: [value] })),
    ...matchExpressions.map(requirementOf),
  ]
  return {
    ...template,
    selector: { ...selector, ...matchLabels },
    ...(requirements.length > 0 && { advancedSelector: requirements }),
  }
}

function requirementOf({ key, operator, values }: NonNullable<PodSelector['matchExpressions']>[number]): Requirement {
  // The API server has no other operators in selectors.
  return { key, operator: operator as Requirement['operator'], ...(values !== undefined && { values }) }
}

/** Source: spec/chaos.md 2.10 "User info". */
function userOf(info: string | undefined): Readonly<Record<string, string>> {
  const { username, groups } = fieldsOf(parsedJson(info ?? ''))
  if (textOf(username) === '') return {}
  return { [USER_ANNOTATION]: textOf(username), [USER_GROUPS_ANNOTATION]: JSON.stringify(listOf(groups)) }
}
