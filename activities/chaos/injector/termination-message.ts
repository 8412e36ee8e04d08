// The injector's termination message: the reason of a failure, in a file that the kubelet or node agent copies into the
// status of the pod.
//
// T1. The injector writes a reason to the file as soon as it knows the reason, so the reason survives a kill of the
//   injector.
// T2. If the file does not exist, the injector runs in no pod and writes nothing.

import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs'

import { isGone } from './processes.ts'
import { type Log, textOf } from './log.ts'

/** The kubelet's default path. Source: Kubernetes, terminationMessagePath. */
export const TERMINATION_LOG = '/dev/termination-log'

// The kubelet's limit.
const MAX_BYTES = 4096

export class TerminationMessage {
  private readonly file: string
  private readonly lines: string[] = []

  constructor(file: string) {
    this.file = file
  }

  /** Adds a line once (T1). @throws if the file exists and cannot be written. */
  add(line: string): void {
    if (this.lines.includes(line)) return
    this.lines.push(line)
    this.write()
  }

  private write(): void {
    const text = Buffer.from(this.lines.join('\n')).subarray(0, MAX_BYTES)
    try {
      const file = openSync(this.file, 'r+')
      try {
        ftruncateSync(file)
        writeSync(file, text, 0, text.length, 0)
      } finally {
        closeSync(file)
      }
    } catch (error) {
      // T2
      if (!isGone(error)) throw error
    }
  }
}

/** A log that also adds its errors to the termination message. */
export function reportingLog(log: Log, message: TerminationMessage): Log {
  return {
    ...log,
    error: (text, fields) => {
      log.error(text, fields)
      try {
        message.add(reasonText(text, fields))
      } catch (error) {
        log.warn('the termination message could not be written', { error: textOf(error) })
      }
    },
  }
}

/** For example `not injected: network-disruption of app: Unsupported: ...`. */
function reasonText(text: string, { what, error, left }: Readonly<Record<string, unknown>> = {}): string {
  const more = [what, error, left].flatMap((one) =>
    one === undefined ? [] : [typeof one === 'string' ? one : JSON.stringify(one)],
  )
  return [text, ...more].join(': ')
}
