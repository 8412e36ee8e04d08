// Plays the kubelet for chaos pods, one step at a time, as a test wants it: what they say is the only thing that the controller knows of injectors.

import { expect, vi } from 'vitest'

import type { KubeClient, KubeObject, ObjectList } from '../../../activities/kube/client.ts'
import { isNotFound } from '../../../activities/kube/errors.ts'
import { CHAOS_NAMESPACE } from '../../../workflows/chaos/config.ts'
import {
  DISRUPTION_KIND_LABEL,
  DISRUPTION_NAME_LABEL,
  DISRUPTION_NAMESPACE_LABEL,
  INJECTOR_CONDITION,
  INJECTOR_CONTAINER,
  SIMULATED_REASON,
  TARGET_LABEL,
} from '../../../workflows/chaos/contract.ts'

const MERGE = 'application/merge-patch+json'

export type ChaosPodObject = KubeObject & {
  readonly spec: { readonly nodeName: string; readonly containers: readonly { readonly args: readonly string[] }[] }
}

export class ChaosKubelet {
  readonly #kube: KubeClient
  readonly #pods: string

  constructor(kube: KubeClient, chaosNamespace: string = CHAOS_NAMESPACE) {
    this.#kube = kube
    this.#pods = `/api/v1/namespaces/${chaosNamespace}/pods`
  }

  /** The chaos pods of a Disruption, or all, by target and kind. */
  async pods(disruption?: KubeObject): Promise<readonly ChaosPodObject[]> {
    const { name = '', namespace = '' } = disruption?.metadata ?? {}
    const labelSelector = `${DISRUPTION_NAME_LABEL}=${name},${DISRUPTION_NAMESPACE_LABEL}=${namespace}`
    const query = disruption === undefined ? {} : { labelSelector }
    const { items } = await this.#kube.request<ObjectList>('GET', this.#pods, { query })
    return ([...items] as ChaosPodObject[]).sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
  }

  /** The same, when there are so many. */
  async untilPods(disruption: KubeObject, count: number): Promise<readonly ChaosPodObject[]> {
    return await vi.waitFor(
      async () => {
        const found = await this.pods(disruption)
        expect(found).toHaveLength(count)
        return found
      },
      { timeout: 60_000, interval: 50 },
    )
  }

  /**
   * The chaos pod cleans, completes, and is taken away by its node when the controller has let go of it. An injector does so when its pod has been deleted, so
   * that is waited for: one that ended before would be taken for another that somebody has deleted by hand, and be made again.
   */
  async end(pod: KubeObject): Promise<void> {
    if (!(await this.#untilDeleted(pod))) return
    await this.exit(pod, 0)
    await this.bury(pod)
  }

  /** @returns whether it is still there. */
  async #untilDeleted({ metadata: { uid } }: KubeObject): Promise<boolean> {
    return await vi.waitFor(
      async () => {
        const found = (await this.pods()).find(({ metadata }) => metadata.uid === uid)
        if (found !== undefined) expect(found.metadata.deletionTimestamp).toBeDefined()
        return found !== undefined
      },
      { timeout: 60_000, interval: 50 },
    )
  }

  async ready(pod: KubeObject, isReady = true): Promise<void> {
    await this.say(pod, {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
      containerStatuses: [container({ running: {} })],
    })
  }

  /** The node agent simulates the injector (`pawl dev`): the pod becomes ready and says what the injector would do. */
  async simulate(pod: KubeObject, message: string): Promise<void> {
    await this.say(pod, {
      phase: 'Running',
      conditions: [
        { type: 'Ready', status: 'True' },
        { type: INJECTOR_CONDITION, status: 'True', reason: SIMULATED_REASON, message },
      ],
      containerStatuses: [container({ running: {} })],
    })
  }

  /** @param exitCode 0: it has completed, and what it did is undone. */
  async exit(pod: KubeObject, exitCode: number, reason?: string): Promise<void> {
    const terminated = { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error' }
    await this.say(pod, {
      phase: exitCode === 0 ? 'Succeeded' : 'Failed',
      ...(reason !== undefined && { reason }),
      conditions: [{ type: 'Ready', status: 'False' }],
      containerStatuses: [container({ terminated })],
    })
  }

  async say({ metadata: { name } }: KubeObject, status: object): Promise<void> {
    await this.#kube.request('PATCH', `${this.#pods}/${name}/status`, { body: { status }, contentType: MERGE })
  }

  async delete({ metadata: { name } }: KubeObject): Promise<void> {
    await this.#kube.request('DELETE', `${this.#pods}/${name}`)
  }

  /** As a person who has undone by hand what was left. */
  async release({ metadata: { name } }: KubeObject): Promise<void> {
    await this.#kube.request('PATCH', `${this.#pods}/${name}`, {
      body: { metadata: { finalizers: null } },
      contentType: MERGE,
    })
  }

  /** A pod whose finalizer is off goes when its node says so. */
  async bury({ metadata: { name } }: KubeObject): Promise<void> {
    try {
      await this.#kube.request('DELETE', `${this.#pods}/${name}`, { body: { gracePeriodSeconds: 0 } })
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }
}

/** `cpu-pressure web-1`. */
export function keyOf({ metadata: { labels = {} } }: KubeObject): string {
  return `${labels[DISRUPTION_KIND_LABEL]} ${labels[TARGET_LABEL]}`
}

function container(state: object): object {
  return {
    name: INJECTOR_CONTAINER,
    image: 'chaos-injector',
    imageID: '',
    restartCount: 0,
    ready: 'running' in state,
    state,
  }
}
