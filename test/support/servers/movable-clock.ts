// Sets the wall clock of running processes for tests, with libfaketime (Debian package libfaketime). The monotonic
// clock is unchanged. Has no effect on programs that call the kernel directly, such as programs in Go.

import { existsSync, globSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The variant of libfaketime for programs with several threads. */
const LIBRARY = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1')[0]

/** The reason why this machine does not support movable clocks; undefined if it does. */
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

  /** Environment variables for processes that use this clock. */
  get env(): Readonly<Record<string, string>> {
    return {
      LD_PRELOAD: LIBRARY ?? '',
      FAKETIME_TIMESTAMP_FILE: this.#file,
      // A running process sees a new offset at once. Timeouts and sleeps use the unchanged monotonic clock.
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    }
  }

  /** @param seconds the offset to this machine's clock; positive: ahead. */
  set(seconds: number): void {
    const written = join(this.#folder, 'next')
    writeFileSync(written, `${seconds < 0 ? '' : '+'}${seconds}\n`)
    // Renaming is atomic: no process reads a partly written offset.
    renameSync(written, this.#file)
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
