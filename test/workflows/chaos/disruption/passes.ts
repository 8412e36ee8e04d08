// Runs passes over a Disruption with prepared objects, without servers.

import { afterEach, beforeEach, vi } from 'vitest'

import { DEFAULT_CONFIG } from '../../../../workflows/chaos/config.ts'
import { FINALIZER } from '../../../../workflows/chaos/contract.ts'
import { disruptionController } from '../../../../workflows/chaos/disruption/controller.ts'
import type { Disruption } from '../../../../workflows/chaos/disruption/kind.ts'
import type { ChaosPod, Target } from '../../../../workflows/chaos/disruption/observed.ts'
import type { DisruptionState } from '../../../../workflows/chaos/disruption/pass.ts'
import type { JsonValue } from '../../../../workflows/kit/index.ts'
import { type FakedFaults, runPass } from '../../../../workflows/kit/testing/index.ts'

export const CREATED = '2026-01-02T03:00:00Z'
export const at = (seconds: number) => new Date(Date.parse(CREATED) + seconds * 1000)

/** Sets the time before each test of the file. */
export function useTime(seconds = 1): void {
  beforeEach(() => {
    vi.useFakeTimers({ now: at(seconds), toFake: ['Date'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })
}

export const SPEC = { selector: { app: 'web' }, count: 1, duration: '10m', network: { drop: 30 } }

export interface Given {
  readonly spec?: object
  readonly status?: object
  readonly metadata?: object
  readonly state?: Partial<DisruptionState>
  readonly settings?: object
  readonly latest?: Date
  readonly released?: 'released' | 'gone'
  readonly fails?: FakedFaults
}

export async function pass({
  spec = SPEC,
  status,
  metadata,
  state = {},
  settings = DEFAULT_CONFIG,
  latest,
  released = 'released',
  fails = {},
}: Given = {}) {
  const target = {
    metadata: {
      name: 'slow',
      namespace: 'shop',
      uid: 'uid-slow',
      creationTimestamp: CREATED,
      finalizers: [FINALIZER],
      ...metadata,
    },
    spec,
    ...(status && { status }),
  } as unknown as Disruption
  const result = await runPass(disruptionController, {
    target,
    state,
    settings: settings as JsonValue,
    released: () => released,
    fails,
    ...(latest && { latest }),
  })
  return { ...result, /** The status after the pass. */ after: result.next.target.status as object }
}

export const pod = (name: string, is: Partial<Target> = {}): Target => ({
  apiVersion: 'v1',
  kind: 'Pod',
  annotations: {},
  isRunning: true,
  waitsForInit: false,
  node: 'n1',
  metadata: { name, namespace: 'shop', uid: `uid-${name}`, resourceVersion: '1' },
  ip: '10.0.0.1',
  containers: [{ name: 'app', id: 'containerd://1' }],
  ...is,
})
/** Pods that match the selector, of which all may be targets. */
export const there = (...names: readonly string[]) => {
  const targets = names.map((name) => pod(name))
  return { pods: targets, targetPods: targets }
}

export const chaosPod = (target: string, is: Partial<ChaosPod> = {}): ChaosPod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  target,
  does: 'network-disruption',
  disruption: 'slow',
  disruptionNamespace: 'shop',
  metadata: {
    name: `chaos-slow-${target}`,
    namespace: 'chaos-engineering',
    uid: `uid-c-${target}`,
    resourceVersion: '1',
  },
  phase: 'Running',
  isReady: false,
  isDeleting: false,
  isHeld: true,
  reason: '',
  injector: 'running' as const,
  hasCompleted: false,
  isDisturbing: true,
  ...is,
})

export const node = (name: string, isRunning = true) =>
  pod(name, { kind: 'Node', isRunning, node: name, metadata: { name, uid: `uid-${name}`, resourceVersion: '1' } })

/** Nothing delays its end. */
export const PROMPT = { ...DEFAULT_CONFIG, controller: { ...DEFAULT_CONFIG.controller, finalizerDeletionDelayMs: 0 } }
export const collecting = (delayMs: number) => ({
  ...DEFAULT_CONFIG,
  controller: { ...DEFAULT_CONFIG.controller, expiredDisruptionGCDelayMs: delayMs },
})
/** A user has removed the finalizer. */
export const UNHELD = { deletionTimestamp: '2026-01-02T03:00:01Z', finalizers: [] }
export const reasonsOf = (events: readonly { readonly reason: string }[]) => events.map(({ reason }) => reason)
