// The log lines of fdbmonitor, in the form of recording 20.

import { writeSync } from 'node:fs'

export const INFO = 10
export const WARNING = 20
export const ERROR = 40
export type Severity = typeof INFO | typeof WARNING | typeof ERROR

export type MonitorLog = (severity: Severity, process: string, text: string) => void

const STDERR = 2

/** Writes each line to stderr before it returns, so that no line is lost when fdbmonitor exits. */
export function createMonitorLog(logGroup: string): MonitorLog {
  return (severity, process, text) => {
    const time = ((performance.timeOrigin + performance.now()) / 1000).toFixed(6)
    const fields = { Time: time, Severity: severity, LogGroup: logGroup, Process: process }
    const head = Object.entries(fields).map(([key, value]) => `${key}="${value}"`)
    writeSync(STDERR, `${head.join(' ')}: ${text}\n`)
  }
}
