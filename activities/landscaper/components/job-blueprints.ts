// A cache of the blueprints of running jobs with their components: a job reads its references once, for all its passes.
//
//   J1. The cache is bounded by size; the least recently used blueprint is removed, and read again when needed.

import { writeJson } from '../../../workflows/kit/index.ts'
import type { Blueprint } from '../render/blueprint/blueprint.ts'
import { isText } from '../render/file-content.ts'

/** One generation of an Installation in one job. */
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
  /** In the order of the last use. */
  readonly #kept = new Map<string, Kept>()
  readonly #most: number
  #bytes = 0

  constructor(most = MAX_KEPT_BYTES) {
    this.#most = most
  }

  /** @throws the errors of `read`, which are not cached. */
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

// An approximation: the size of the sources.
function bytesOf({ files, component }: Blueprint): number {
  const texts = Object.entries(files).flatMap(([path, file]) => [path, isText(file) ? file : file.base64])
  const documents = (component?.all ?? []).map(({ document }) => writeJson(document))
  return [...texts, ...documents].reduce((sum, text) => sum + text.length, 0)
}
