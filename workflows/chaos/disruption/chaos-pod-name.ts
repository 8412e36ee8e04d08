// How chaos pods are called, so that one that is made twice is found instead. Source: spec/chaos.md 6 (1).

import { contentHash } from '../../kit/index.ts'

// Source: RFC 1123 labels: the name becomes a pod's host name.
const LONGEST_NAME = 63
const LONGEST_LABEL = 63

export interface ChaosPodOf {
  /** Of the Disruption. */
  readonly name: string
  readonly uid: string
  readonly target: string
  readonly kind: string
  /** Counts from 1. */
  readonly run: number
}

/** `chaos-<disruption>-<hash>`, the same for the same target, kind and run. */
export function chaosPodName({ name, ...of }: ChaosPodOf): string {
  const hash = contentHash(of).slice(0, 10)
  const begin = `chaos-${name}`.slice(0, LONGEST_NAME - hash.length - 1).replace(/[^a-z0-9]+$/, '')
  return `${begin.replaceAll('.', '-')}-${hash}`
}

/** A target's name as a label may have it: names may be longer than that. */
export function targetLabel(name: string): string {
  if (name.length <= LONGEST_LABEL) return name
  const hash = contentHash(name).slice(0, 10)
  return `${name.slice(0, LONGEST_LABEL - hash.length - 1).replace(/[^A-Za-z0-9]+$/, '')}-${hash}`
}
