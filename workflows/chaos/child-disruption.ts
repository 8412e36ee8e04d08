// Builds the Disruption that a cron or rollout creates. Its name is fixed, so at most one exists at a time and a
// repeated create makes no second one. The creating step adds the owner reference. Source: spec/chaos.md 2.12, 2.13.

import type { ObjectMeta } from '../kit/index.ts'
import {
  DISRUPTION_CRON_NAME_LABEL,
  DISRUPTION_ROLLOUT_NAME_LABEL,
  SCHEDULED_AT_ANNOTATION,
  USER_ANNOTATION,
  USER_GROUPS_ANNOTATION,
  USER_INFO_ANNOTATION,
} from './contract.ts'
import { timestampMs, timestampText } from './timestamp.ts'
import { fieldsOf, listOf, parsedJson, textOf } from './json-fields.ts'

const PARENT_KINDS = {
  DisruptionCron: { prefix: 'disruption-cron-', label: DISRUPTION_CRON_NAME_LABEL },
  DisruptionRollout: { prefix: 'disruption-rollout-', label: DISRUPTION_ROLLOUT_NAME_LABEL },
} as const

/**
 * The child gets no kubectl annotation of the parent; the parent's creator is copied in another form
 * (`creatorAnnotations`).
 */
const NOT_COPIED = new Set(['kubectl.kubernetes.io/last-applied-configuration', USER_INFO_ANNOTATION])

interface Requirement {
  readonly key: string
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'
  readonly values?: readonly string[]
}

/** The selector fields of a template, which are merged with the target's selector. */
export interface SelectorFields {
  readonly selector?: Readonly<Record<string, string>>
  readonly advancedSelector?: readonly Requirement[]
}

export interface Parent<Spec extends SelectorFields> {
  readonly kind: keyof typeof PARENT_KINDS
  readonly metadata: Pick<ObjectMeta, 'name' | 'namespace' | 'annotations'>
  readonly spec: { readonly disruptionTemplate: Spec }
}

/** The pod selector of a Deployment or StatefulSet. */
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
}: Pick<Parent<SelectorFields>, 'kind'> & { readonly metadata: { readonly name: string } }): string {
  return `${PARENT_KINDS[kind].prefix}${metadata.name}`
}

/** @param scheduledAtMs the time of the schedule or of the change. */
export function childDisruption<Spec extends SelectorFields>(
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
      labels: { [PARENT_KINDS[kind].label]: metadata.name },
      annotations: {
        ...Object.fromEntries(copied),
        ...creatorAnnotations(metadata.annotations?.[USER_INFO_ANNOTATION]),
        [SCHEDULED_AT_ANNOTATION]: timestampText(scheduledAtMs),
      },
    },
    spec: withSelector(spec.disruptionTemplate, selector),
  }
}

/** The time for which a child was created; undefined without a valid annotation. */
export function scheduledAtMs({
  metadata,
}: {
  readonly metadata: Pick<ObjectMeta, 'annotations'>
}): number | undefined {
  return timestampMs(metadata.annotations?.[SCHEDULED_AT_ANNOTATION])
}

/** Selects the pods that match both the target's selector and the template; none if the two contradict each other. */
function withSelector<Spec extends SelectorFields>(
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
  // The API server accepts no other operators in selectors.
  return { key, operator: operator as Requirement['operator'], ...(values !== undefined && { values }) }
}

/** Source: spec/chaos.md 2.10 "User info". */
function creatorAnnotations(info: string | undefined): Readonly<Record<string, string>> {
  const { username, groups } = fieldsOf(parsedJson(info ?? ''))
  if (textOf(username) === '') return {}
  return { [USER_ANNOTATION]: textOf(username), [USER_GROUPS_ANNOTATION]: JSON.stringify(listOf(groups)) }
}
