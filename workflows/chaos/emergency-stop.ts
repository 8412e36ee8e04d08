// Finds an emergency stop: an annotation on the namespace of an object, or on the configured chaos namespace for the
// whole cluster.

import { fieldsOf, type StateQuery, type StatusExplanation, textOf } from '../kit/index.ts'
import { CONFIGURED_NAMESPACE } from './config.ts'
import { EMERGENCY_STOP_ANNOTATION } from './contract.ts'

export interface NamespaceView {
  readonly name: string
  /** The reason of the stop, empty without a reason; undefined without a stop. */
  readonly stop?: string
}

export interface StopState {
  /**
   * The namespace of the object and the chaos namespace. Activity inputs contain the names of these queries, so they
   * keep the spelling `home`.
   */
  readonly home: NamespaceView | undefined
  readonly chaosHome: NamespaceView | undefined
}

interface Namespace {
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> }
}

export function namespaceView({ metadata: { name, annotations = {} } }: Namespace): NamespaceView {
  const stop = annotations[EMERGENCY_STOP_ANNOTATION]
  return { name, ...(stop !== undefined && { stop }) }
}

const NAMESPACE_QUERY = {
  kind: 'v1/Namespace',
  view: namespaceView,
  onlyIf: { 'metadata.deletionTimestamp': [''] },
} as const

/** Stops are rare, and their changes wake the pass. Objects that are being deleted end anyway. */
export const stopQueries: Readonly<Record<keyof StopState, StateQuery>> = {
  home: { ...NAMESPACE_QUERY, name: '${target.metadata.namespace}' },
  chaosHome: { ...NAMESPACE_QUERY, name: CONFIGURED_NAMESPACE },
}

/** The namespace with the emergency stop. */
export function stopIn({ home, chaosHome }: StopState): NamespaceView | undefined {
  return [home, chaosHome].find((place) => place?.stop !== undefined)
}

const MAX_MESSAGE_LENGTH = 1000

/** @param therefore the consequence, as a clause. */
export function stopText({ name, stop = '' }: NamespaceView, therefore: string): string {
  const why = stop === '' || stop === 'true' ? '' : `: ${stop}`
  const text = `namespace ${name} has the annotation ${EMERGENCY_STOP_ANNOTATION}, so ${therefore}${why}`
  return text.slice(0, MAX_MESSAGE_LENGTH)
}

/**
 * For users: adds to the explanation of a cron or rollout that an emergency stop holds it.
 *
 * @param namespaces the live Namespaces of `stopQueries`.
 */
export function explainStop(
  { metadata }: { readonly metadata?: unknown },
  namespaces: readonly object[],
  explanation: StatusExplanation,
): StatusExplanation {
  const views = namespaces.map((one) => namespaceView(one as Namespace))
  const stopping = views.find(({ stop }) => stop !== undefined)
  if (stopping === undefined) return explanation
  const { name, stop = '' } = stopping
  const command = `chaos resume ${textOf(fieldsOf(metadata)['namespace']) === name ? `-n ${name}` : '--all'}`
  const why = stop === '' || stop === 'true' ? '' : ` (${stop})`
  const held = `the emergency stop of namespace "${name}"${why} holds it, so no Disruption is created until pawl ${command}`
  const summary = [held, explanation.summary].filter((text) => text !== undefined).join('; ')
  return { ...explanation, summary: summary.slice(0, MAX_MESSAGE_LENGTH), command }
}
