// A cache of the blueprints of running jobs with their components: a job reads its references once, for all its passes.
//
//   J1. The cache is bounded by size; the least recently used blueprint is removed, and read again when needed.

import { LRUCache } from 'lru-cache'
import { writeJson } from '../../../workflows/kit/index.ts'
import type { Blueprint } from '../render/blueprint/blueprint.ts'
import { isText } from '../render/file-content.ts'

/** One generation of an Installation in one job. */
export interface JobKey {
  readonly uid: string
  readonly jobID: string
  readonly generation: number
}

const MAX_BYTES = 64 * 1024 * 1024

export class JobBlueprints {
  readonly #cache: LRUCache<string, Blueprint>

  constructor(maxBytes = MAX_BYTES) {
    this.#cache = new LRUCache({ maxSize: maxBytes, sizeCalculation: bytesOf })
  }

  /** @throws the errors of `read`, which are not cached. */
  async of({ uid, jobID, generation }: JobKey, read: () => Promise<Blueprint>): Promise<Blueprint> {
    const key = writeJson([uid, jobID, generation])
    const cached = this.#cache.get(key)
    if (cached !== undefined) return cached
    const blueprint = await read()
    this.#cache.set(key, blueprint)
    return blueprint
  }
}

// An approximation: the size of the sources. The cache requires sizes above 0.
function bytesOf({ files, component }: Blueprint): number {
  const texts = Object.entries(files).flatMap(([path, file]) => [path, isText(file) ? file : file.base64])
  const documents = (component?.all ?? []).map(({ document }) => writeJson(document))
  return [...texts, ...documents].reduce((sum, text) => sum + text.length, 1)
}
