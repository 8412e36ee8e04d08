// CPU profiles of a running Node process: of its main thread, and of the worker threads that there are when the profile begins.

import { Inspector, type Session } from './inspector.ts'
import type { CpuProfile } from './profile-text.ts'

export interface ThreadProfile {
  readonly thread: string
  readonly profile: CpuProfile
}

/** Half of it doubles what the profiler itself costs. */
const SAMPLE_US = 1000

export class Profiler {
  readonly #inspector: Inspector
  readonly #sessions: readonly Session[]

  private constructor(inspector: Inspector) {
    this.#inspector = inspector
    this.#sessions = inspector.sessions
  }

  /** Begins the profiles. @param logFile where the process writes its standard error. */
  static async start(pid: number, logFile: string): Promise<Profiler> {
    const profiler = new Profiler(await Inspector.open(pid, logFile))
    for (const session of profiler.#sessions) {
      await session.call('Profiler.enable')
      await session.call('Profiler.setSamplingInterval', { interval: SAMPLE_US })
      await session.call('Profiler.start')
    }
    return profiler
  }

  async stop(): Promise<readonly ThreadProfile[]> {
    try {
      const found: ThreadProfile[] = []
      for (const session of this.#sessions) {
        const { profile } = (await session.call('Profiler.stop')) as { profile: CpuProfile }
        found.push({ thread: session.thread, profile })
      }
      return found
    } finally {
      this.#inspector.close()
    }
  }
}
