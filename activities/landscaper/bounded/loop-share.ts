// Cheap work on the event loop, so little of it in one turn that nobody else notices, however much is asked for at once.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { MOST_EFFORT } from './effort.ts'

export class LoopShare {
  #spent = 0
  #last: Promise<void> = Promise.resolve()

  /** Waits for a turn of the loop that has room for work of this effort. */
  async take(effort: number): Promise<void> {
    this.#last = this.#last.then(async () => {
      if (this.#spent + effort > MOST_EFFORT) {
        await nextTurn()
        this.#spent = 0
      }
      this.#spent += effort
    })
    await this.#last
  }
}
