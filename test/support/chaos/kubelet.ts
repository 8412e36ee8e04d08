// Simulates the kubelet for chaos pods, one step per call. The controller knows injectors only from the pod status.

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

  /** The chaos pods of a Disruption, or all chaos pods, sorted by kind and target. */
  async pods(disruption?: KubeObject): Promise<readonly ChaosPodObject[]> {
    const { name = '', namespace = '' } = disruption?.metadata ?? {}
    const labelSelector = `${DISRUPTION_NAME_LABEL}=${name},${DISRUPTION_NAMESPACE_LABEL}=${namespace}`
    const query = disruption === undefined ? {} : { labelSelector }
    const { items } = await this.#kube.request<ObjectList>('GET', this.#pods, { query })
    return ([...items] as ChaosPodObject[]).sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
  }

  /** Waits until the Disruption has this number of chaos pods, and returns them. */
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
   * Ends a chaos pod like its node: the injector cleans up, the pod completes, and the kubelet removes it. Waits first
   * until the pod has a deletionTimestamp, like an injector does. The controller recreates a pod that ends earlier, as
   * if a user had deleted the pod.
   */
  async end(pod: KubeObject): Promise<void> {
    if (!(await this.#untilDeleted(pod))) return
    await this.exit(pod, 0)
    await this.bury(pod)
  }

  /** @returns whether the pod still exists. */
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

  /** Like the node agent of `pawl dev`, which simulates injectors. @param message of the condition. */
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

  /** @param exitCode 0: the injector has completed and has undone its changes. */
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

  /** Removes the finalizer, like a user who has undone the injector's changes by hand. */
  async release({ metadata: { name } }: KubeObject): Promise<void> {
    await this.#kube.request('PATCH', `${this.#pods}/${name}`, {
      body: { metadata: { finalizers: null } },
      contentType: MERGE,
    })
  }

  /** Deletes the pod without a grace period, like its node. The API server removes the pod if it has no finalizer. */
  async bury({ metadata: { name } }: KubeObject): Promise<void> {
    try {
      await this.#kube.request('DELETE', `${this.#pods}/${name}`, { body: { gracePeriodSeconds: 0 } })
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }
}

/** Kind and target of a chaos pod, for example `cpu-pressure web-1`. */
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
