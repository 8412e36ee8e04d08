// A clock that a test sets while the processes that have it run: libfaketime, of Debian's package of that name, lies to whatever they ask for the time of day.
// Their steady clocks go on. Programs that ask the kernel themselves, as those written in Go do, are not deceived.

import { existsSync, globSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** For programs with several threads. */
const LIBRARY = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1')[0]

/** Why no clock can be moved here; undefined when one can. */
export function whyNoMovableClock(): string | undefined {
  if (process.platform !== 'linux') return 'this is no Linux'
  return LIBRARY === undefined || !existsSync(LIBRARY) ? 'libfaketime not installed' : undefined
}

export class MovableClock {
  readonly #folder = mkdtempSync(join(tmpdir(), 'pawl-clock-'))
  readonly #file = join(this.#folder, 'offset')

  constructor() {
    this.set(0)
  }

  /** Of processes that are to have it. */
  get env(): Readonly<Record<string, string>> {
    return {
      LD_PRELOAD: LIBRARY ?? '',
      FAKETIME_TIMESTAMP_FILE: this.#file,
      // Each look at the clock reads the file; time-outs and pauses are real.
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    }
  }

  /** @param seconds by which it is ahead of this machine's; negative: behind. */
  set(seconds: number): void {
    const written = join(this.#folder, 'next')
    writeFileSync(written, `${seconds < 0 ? '' : '+'}${seconds}\n`)
    // At once: who reads half of it would have yet another time.
    renameSync(written, this.#file)
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
