// Records the calls of a run's fake activities in order, and sends signals to the run.

import type { WorkflowHandle } from '@temporalio/client'
import type proto from '@temporalio/proto'
import { expect, vi } from 'vitest'

/** Options of waits for events that must happen, also on a slow machine. */
export const PATIENT = { timeout: 30_000, interval: 10 }

export class RunWorld {
  readonly workflowID: string
  /** One line per activity call. */
  readonly log: string[] = []
  run!: WorkflowHandle

  constructor(workflowID: string) {
    this.workflowID = workflowID
  }

  /** @param seq of the journal event; 0: a due time. */
  async wake(seq = 1): Promise<void> {
    await this.run.signal('wake', { seq })
  }

  /** Waits until the log has the line. */
  async reached(line: string): Promise<void> {
    await vi.waitFor(() => expect(this.log).toContain(line), PATIENT)
  }

  /** The summaries of the history events, in order. */
  async summaries(): Promise<readonly string[]> {
    const { events } = await this.run.fetchHistory()
    return (events ?? []).flatMap(({ userMetadata }) => {
      const data = userMetadata?.summary?.data
      return data == null ? [] : [String(JSON.parse(Buffer.from(data).toString()))]
    })
  }

  /** The number of history events of the type. */
  async eventsOf(type: proto.temporal.api.enums.v1.EventType): Promise<number> {
    const { events } = await this.run.fetchHistory()
    return (events ?? []).filter(({ eventType }) => eventType === type).length
  }
}

/** The worlds of all runs of a test file. One worker executes the activities of all runs, each with its run's world. */
export class Worlds<World extends RunWorld> {
  readonly #worlds = new Map<string, World>()

  add(world: World): void {
    this.#worlds.set(world.workflowID, world)
  }

  /** @throws Error if no test has added the run. */
  of(workflowID: string): World {
    const world = this.#worlds.get(workflowID)
    if (world === undefined) throw new Error(`no test knows ${workflowID}`)
    return world
  }
}
