// The reference scenario for crash tests of Disruptions. Its result is compared with the result of an undisturbed run.
//
//   C1. Two undisturbed runs have equal results. The comparison replaces or omits times and the names of chaos pods.
//   C2. Each run has its own target and its own Disruption with the name of the run, so runs do not affect each other.

import { sql } from 'kysely'
import { expect, vi } from 'vitest'

import type { KubeObject } from '../../../activities/kube/client.ts'
import { DISRUPTION_KIND_LABEL, TARGET_LABEL } from '../../../workflows/chaos/contract.ts'
import type { HttpProxy, RecordedWrite } from '../faults/http-proxy.ts'
import { pointsOf } from '../faults/crash.ts'
import { RESTART_MS } from '../faults/lane.ts'
import { isWriteOf } from './frozen-runs.ts'
import type { ChaosKubelet } from './kubelet.ts'
import type { PlayedKubelet } from './played-kubelet.ts'
import { CHAOS, type ChaosCluster, type ChaosTenants } from './tenants.ts'

const PATIENT = { timeout: RESTART_MS, interval: 50 }

/** All writes of the reference scenario. The undisturbed run checks that the list is complete. */
export const INJECTION_WRITES = pointsOf([
  'PATCH disruptions',
  'PATCH disruptions/status',
  'POST pods',
  'POST pods',
  'POST events',
  'POST events',
  'POST events',
  'POST events',
  'POST events',
  'PATCH disruptions/status',
])
export const CLEANUP_WRITES = pointsOf([
  'DELETE pods',
  'DELETE pods',
  'PATCH disruptions/status',
  'PATCH pods',
  'PATCH pods',
  'POST events',
  'POST events',
  'PATCH disruptions/status',
  'PATCH disruptions',
])

/** The result of a run. */
export interface Course {
  /** The status after all injections (C1). */
  readonly injected: unknown
  /** All chaos pods of the run, including deleted ones: kind and target. */
  readonly chaosPods: readonly string[]
  /** Chaos pods that the API server created. */
  readonly made: readonly string[]
  /** The number of DELETE requests for chaos pods. */
  readonly deleted: number
  /** The reasons of the Events about the Disruption and the target. */
  readonly told: readonly string[]
  /** Chaos pods that exist at the end. */
  readonly left: readonly KubeObject[]
}

/** The cluster and the simulated kubelets that all runs share. */
export interface CrashStage {
  readonly chaos: ChaosTenants<'shop'>
  readonly kubelet: ChaosKubelet
  readonly played: PlayedKubelet
  /** The writes of the worker until the last `rearm`. */
  readonly writes: RecordedWrite[]
}

/** Arms the worker's proxy. Arming clears the writes that the proxy recorded, so the stage saves them first. */
export function rearm({ chaos, writes }: CrashStage, ...how: Parameters<HttpProxy['arm']>): void {
  const { worker } = chaos.tenants.proxies
  writes.push(...worker.writes)
  worker.arm(...how)
}

/** The worker's writes so far that belong to a Disruption. */
export function writesOf({ chaos, writes }: CrashStage, name: string): readonly RecordedWrite[] {
  return [...writes, ...chaos.tenants.proxies.worker.writes].filter((write) => isWriteOf(name, write))
}

export class CrashCourse {
  readonly #stage: CrashStage
  readonly #shop: ChaosCluster
  readonly #name: string
  #disruption: KubeObject | undefined
  #injected: unknown

  /** @param name letters and digits (C2). */
  constructor(stage: CrashStage, name: string) {
    this.#stage = stage
    this.#name = name
    this.#shop = stage.chaos.of('shop')
  }

  /** Applies the reference Disruption, two kinds on one target, and waits until it is injected. */
  async inject(): Promise<void> {
    const name = this.#name
    await this.#shop.runPod(name, { labels: { app: name }, node: 'n1' })
    const spec = { selector: { app: name }, count: 1, duration: '1h', network: { drop: 30 }, cpuPressure: {} }
    this.#disruption = await this.#shop.disrupt(name, spec)
    const status = async () => await this.#shop.status(name)
    await vi.waitFor(async () => expect(await status()).toMatchObject({ injectionStatus: 'Injected' }), PATIENT)
    await this.#atRest(false)
    this.#injected = comparable(await status(), name)
  }

  /** Deletes the Disruption and waits until it is gone. */
  async cleanUp(): Promise<Course> {
    const { kubelet, played } = this.#stage
    const name = this.#name
    await this.#shop.remove(name)
    const found = async () => await this.#shop.cluster.get('disruptions', name, CHAOS)
    await vi.waitFor(async () => expect(await found()).toBeUndefined(), PATIENT)
    await this.#atRest(true)
    const done = writesOf(this.#stage, name).filter(({ status }) => status < 300)
    const ofPods = (verb: string) => done.filter(({ label }) => label === `${verb} pods`)
    const ofTarget = (reason: string) => `${reason} of the target`
    return {
      injected: this.#injected,
      chaosPods: played.seen(name).map((key) => key.replace(name, '<run>')),
      made: ofPods('POST').map(madeText(name)).sort(),
      deleted: new Set(ofPods('DELETE').map(({ path }) => path)).size,
      told: [
        ...(await this.#shop.reasons('Disruption', name)),
        ...(await this.#shop.reasons('Pod', name)).map(ofTarget),
      ],
      left: await kubelet.pods(this.#disruption),
    }
  }

  /** Waits until the Disruption has no due wake and, if `isOver`, no open run. */
  async #atRest(isOver: boolean): Promise<void> {
    const { db } = this.#stage.chaos.tenants.pawl
    const question = sql<{ ok: boolean }>`select
      not exists (select from wake where name = ${this.#name} and due <= now())
      and not exists (select from job where name = ${this.#name} and outcome is null and ${isOver}) as ok`
    await vi.waitFor(async () => expect((await question.execute(db)).rows).toEqual([{ ok: true }]), PATIENT)
  }
}

const madeText =
  (run: string) =>
  ({ answer }: RecordedWrite) => {
    const { [DISRUPTION_KIND_LABEL]: kind, [TARGET_LABEL]: target } = answer.metadata.labels ?? {}
    return `${kind} ${target?.replace(run, '<run>')}`
  }

function comparable(status: object, run: string): unknown {
  const text = JSON.stringify(status)
    .replaceAll(/chaos-[a-z0-9-]+-[0-9a-f]{10}/g, '<chaos pod>')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, '<time>')
    .replaceAll(/"specHash":"[^"]+"/g, '"specHash":"<hash>"')
  return JSON.parse(text.replaceAll(run, '<run>')) as unknown
}
