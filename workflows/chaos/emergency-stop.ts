// Where an emergency stop is looked for: an annotation on the namespace of an object, or on that of chaos pods, as it is
// configured, for the whole cluster.

import type { StateQuery } from '../kit/index.ts'
import { CONFIGURED_NAMESPACE } from './config.ts'
import { EMERGENCY_STOP_ANNOTATION } from './contract.ts'

export interface NamespaceView {
  readonly name: string
  /** Why everything has to stop, empty where nobody says so; undefined: nothing has to. */
  readonly stop?: string
}

export interface StopState {
  /** Where the object is, and where chaos pods are. */
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

const PLACE = { kind: 'v1/Namespace', view: namespaceView, onlyIf: { 'metadata.deletionTimestamp': [''] } } as const

/** They come and go seldom, and their changes wake. Whatever is being deleted stops anyway. */
export const stopQueries: Readonly<Record<keyof StopState, StateQuery>> = {
  home: { ...PLACE, name: '${target.metadata.namespace}' },
  chaosHome: { ...PLACE, name: CONFIGURED_NAMESPACE },
}

/** The namespace that says that everything has to stop. */
export function stopIn({ home, chaosHome }: StopState): NamespaceView | undefined {
  return [home, chaosHome].find((place) => place?.stop !== undefined)
}

const LONGEST_MESSAGE = 1000

/** @param therefore what follows, as a clause. */
export function stopText({ name, stop = '' }: NamespaceView, therefore: string): string {
  const why = stop === '' || stop === 'true' ? '' : `: ${stop}`
  const text = `namespace ${name} has the annotation ${EMERGENCY_STOP_ANNOTATION}, so ${therefore}${why}`
  return text.slice(0, LONGEST_MESSAGE)
}
