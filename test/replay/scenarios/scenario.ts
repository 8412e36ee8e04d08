// Types and helpers of scenarios. A scenario runs one job on real servers, whose histories are recorded.

import type { Client } from '@temporalio/client'
import { type Cluster, installation, type Item, type LsObject } from '../../support/cluster/cluster.ts'

/** The controller of a run, which is also its workflow type. */
export type RunKind = 'installation' | 'execution' | 'deploy' | 'beacon'

export interface Recorder {
  readonly cluster: Cluster
  readonly client: Client
}

export interface Scenario {
  /** The controllers whose runs are recorded. */
  readonly kinds: readonly RunKind[]
  /** Which run is recorded if a workflow ID has several; default: the most recent run. */
  readonly run?: 'first'
  /**
   * Runs the scenario on objects with this name. @returns the object of the job to record, with its job ID; in level
   * mode, the object.
   */
  readonly play: (recorder: Recorder, name: string) => Promise<LsObject>
}

export type Scenarios = Readonly<Record<string, Scenario>>

/**
 * A value in the imports, templates and Secrets of the scenarios that must not occur in a history, like any content of
 * users.
 */
export const SECRET = 'opensesame'

export async function create(cluster: Cluster, name: string, items: readonly Item[]): Promise<void> {
  await cluster.create(installation(name, items), 'installations')
}

/** Waits until the item of an Execution is Progressing. */
export async function startedItem(cluster: Cluster, execution: string, name: string): Promise<LsObject> {
  const items = await cluster.waitUntilItems(execution, [name], (item) => item?.status?.phase === 'Progressing')
  return items.get(name) as LsObject
}

/** Waits until the object has another job than `before`, and returns it with that job. */
export async function leaving(cluster: Cluster, plural: string, before: LsObject): Promise<LsObject> {
  const { jobID } = before.status ?? {}
  return await cluster.waitUntil(plural, before.metadata.name, (object) => {
    const found = object?.status?.jobID
    return found !== undefined && found !== jobID
  })
}

export async function workflowIDs(client: Client, { status }: LsObject): Promise<string[]> {
  const found = new Set<string>()
  for await (const { workflowId } of client.workflow.list({ query: `PawlJobId = '${status?.jobID ?? ''}'` }))
    found.add(workflowId)
  return [...found]
}

/** @throws when the condition is not true within 30 s. */
export async function waitUntil(isSo: () => Promise<boolean>): Promise<void> {
  for (let look = 1; !(await isSo()); look++) {
    if (look === 600) throw new Error('it did not come to that in 30 s')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
