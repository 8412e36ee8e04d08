// Records the calls to a run's fake activities in order, and sends signals to the run.

import type { WorkflowHandle } from '@temporalio/client'
import type proto from '@temporalio/proto'
import { expect, vi } from 'vitest'

/** For what must come, on whatever machine. */
export const PATIENT = { timeout: 30_000, interval: 10 }

export class RunWorld {
  readonly workflowID: string
  /** One line an activity. */
  readonly log: string[] = []
  run!: WorkflowHandle

  constructor(workflowID: string) {
    this.workflowID = workflowID
  }

  /** @param seq 0: by its due time. */
  async wake(seq = 1): Promise<void> {
    await this.run.signal('wake', { seq })
  }

  /** Waits until the log has the line. */
  async reached(line: string): Promise<void> {
    await vi.waitFor(() => expect(this.log).toContain(line), PATIENT)
  }

  /** The summaries of the run's events, in their order. */
  async summaries(): Promise<readonly string[]> {
    const { events } = await this.run.fetchHistory()
    return (events ?? []).flatMap(({ userMetadata }) => {
      const data = userMetadata?.summary?.data
      return data == null ? [] : [String(JSON.parse(Buffer.from(data).toString()))]
    })
  }

  /** How many events of the type the run's history has. */
  async eventsOf(type: proto.temporal.api.enums.v1.EventType): Promise<number> {
    const { events } = await this.run.fetchHistory()
    return (events ?? []).filter(({ eventType }) => eventType === type).length
  }
}

/** The worlds of a file's runs: one worker does the activities of all of them, each in the world of its run. */
export class Worlds<World extends RunWorld> {
  readonly #worlds = new Map<string, World>()

  add(world: World): void {
    this.#worlds.set(world.workflowID, world)
  }

  /** @throws Error when no test has added it. */
  of(workflowID: string): World {
    const world = this.#worlds.get(workflowID)
    if (world === undefined) throw new Error(`no test knows ${workflowID}`)
    return world
  }
}
