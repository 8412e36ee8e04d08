// Simulates the kubelet for all chaos pods continuously: pods become ready, and deleted pods complete and disappear.

import { setTimeout as sleep } from 'node:timers/promises'

import { isNotFound } from '../../../activities/kube/errors.ts'
import { DISRUPTION_NAME_LABEL } from '../../../workflows/chaos/contract.ts'
import { type ChaosKubelet, type ChaosPodObject, keyOf } from './kubelet.ts'

const EVERY_MS = 50

export class PlayedKubelet {
  readonly #kubelet: ChaosKubelet
  /** All chaos pods so far, including deleted ones, by uid. */
  readonly #seen = new Map<string, ChaosPodObject>()
  readonly #playing: Promise<void>
  #isOver = false

  constructor(kubelet: ChaosKubelet) {
    this.#kubelet = kubelet
    this.#playing = this.#play()
    // `stop` throws this error.
    this.#playing.catch(() => undefined)
  }

  /** The chaos pods of a Disruption so far, including deleted ones: kind and target of each pod. */
  seen(disruption: string): readonly string[] {
    const own = [...this.#seen.values()].filter(
      ({ metadata }) => metadata.labels?.[DISRUPTION_NAME_LABEL] === disruption,
    )
    return own.map(keyOf).sort()
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#playing
  }

  async #play(): Promise<void> {
    while (!this.#isOver) {
      const pods = await this.#kubelet.pods()
      await Promise.all(
        pods.map(async (pod) => {
          this.#seen.set(pod.metadata.uid ?? '', pod)
          await this.#step(pod)
        }),
      )
      await sleep(EVERY_MS)
    }
  }

  async #step(pod: ChaosPodObject): Promise<void> {
    const { phase = 'Pending' } = (pod as { readonly status?: { readonly phase?: string } }).status ?? {}
    const isDeleting = pod.metadata.deletionTimestamp !== undefined
    try {
      if (!isDeleting && phase === 'Pending') await this.#kubelet.ready(pod)
      if (isDeleting && phase === 'Running') await this.#kubelet.exit(pod, 0)
      if (isDeleting) await this.#kubelet.bury(pod)
    } catch (error) {
      // The controller removed the finalizer between the list and the write, so the pod is gone.
      if (!isNotFound(error)) throw error
    }
  }
}
