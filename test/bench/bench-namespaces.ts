// Namespaces for scenarios that make their Installations themselves, one at a time or without a job.

import { Load } from './load.ts'
import type { Stage } from './stage.ts'

export interface BenchNamespaces {
  readonly names: readonly string[]
  /** Removes them, unless they are empty and go with their set. */
  readonly close: () => Promise<void>
}

/** A load of no Installations has its namespaces all the same. */
export async function openNamespaces({ kube, set }: Stage, count: number): Promise<BenchNamespaces> {
  const plan = { installations: 0, items: 1, shape: 'wide', deployer: 'mock', namespaces: count } as const
  const load = await Load.open(kube, plan, set)
  return { names: load.namespaces, close: () => load.close() }
}
