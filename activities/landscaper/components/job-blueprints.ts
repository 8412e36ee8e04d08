// The blueprints of jobs that are open here, with their components: a job reads what it refers to once, however many passes it has.
//
//   J1. What is kept is bounded by its size; the oldest goes. Whoever is not found again is read again.

import { writeJson } from '../../../workflows/kit/index.ts'
import type { Blueprint } from '../render/blueprint/blueprint.ts'
import { isText } from '../render/file-content.ts'

/** One edition of one Installation in one job. */
export interface JobKey {
  readonly uid: string
  readonly jobID: string
  readonly generation: number
}

interface Kept {
  readonly blueprint: Blueprint
  readonly bytes: number
}

const MAX_KEPT_BYTES = 64 * 1024 * 1024

export class JobBlueprints {
  /** In the order of their last use. */
  readonly #kept = new Map<string, Kept>()
  readonly #most: number
  #bytes = 0

  constructor(most = MAX_KEPT_BYTES) {
    this.#most = most
  }

  /** @throws what `read` throws, which is then not kept. */
  async of({ uid, jobID, generation }: JobKey, read: () => Promise<Blueprint>): Promise<Blueprint> {
    const key = writeJson([uid, jobID, generation])
    const known = this.#kept.get(key)
    const blueprint = known?.blueprint ?? (await read())
    this.#forget(key)
    this.#keep(key, { blueprint, bytes: known?.bytes ?? bytesOf(blueprint) })
    return blueprint
  }

  #keep(key: string, kept: Kept): void {
    this.#kept.set(key, kept)
    this.#bytes += kept.bytes
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= this.#most) break
      this.#forget(oldest)
    }
  }

  #forget(key: string): void {
    this.#bytes -= this.#kept.get(key)?.bytes ?? 0
    this.#kept.delete(key)
  }
}

// Roughly: what it was read from.
function bytesOf({ files, component }: Blueprint): number {
  const texts = Object.entries(files).flatMap(([path, file]) => [path, isText(file) ? file : file.base64])
  const documents = (component?.all ?? []).map(({ document }) => writeJson(document))
  return [...texts, ...documents].reduce((sum, text) => sum + text.length, 0)
}
