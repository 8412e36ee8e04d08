// Starts fdbmonitor from a generated script: arguments, the lock file and signals (recordings 00/017, 00/018 and 20).
//
// Differences to the real fdbmonitor: it cannot become a daemon, and the wait before a restart is no process, so a
// SIGTERM during the wait logs no "Killing process" line.

import { existsSync } from 'node:fs'
import { stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { constants } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { outsidePath } from '../container-root.ts'
import type { ToolProcess } from '../tool-host.ts'
import { Monitor } from './monitor.ts'
import { createMonitorLog, ERROR, INFO, WARNING, type MonitorLog } from './monitor-log.ts'

const LOCK_POLL_MS = 100
const SIGNAL_TEXTS = { SIGTERM: 'Terminated', SIGINT: 'Interrupt' } as const

const USAGE = `Usage: fdbmonitor [OPTIONS]

  --conffile CONFFILE
                 The path of a file containing the connection string for the
                 FoundationDB cluster. The default is
                 \`/etc/foundationdb/foundationdb.conf'.
  --lockfile LOCKFILE
                 The path of the mutual exclusion file for this instance of
                 fdbmonitor. The default is \`/var/run/fdbmonitor.pid'.
  --loggroup LOGGROUP
                 Sets the 'LogGroup' field with the specified value for all
                 entries in the log output. The default log group is 'default'.
  --daemonize    Background the fdbmonitor process.
  -h, --help     Display this help and exit.
`

/** The parts of Node's process that fdbmonitor needs in addition. */
export interface MonitorProcess extends ToolProcess {
  readonly pid: number
  readonly platform: string
  on(signal: NodeJS.Signals, listener: () => void): unknown
}

/** @returns the exit code. */
export async function start(tool: MonitorProcess, version: string): Promise<number> {
  const product = `FoundationDB Process Monitor ${version.replace(/\.\d+$/, '')} (v${version})`
  // Unknown options are ignored, as by the real fdbmonitor.
  const { values } = parseArgs({
    args: tool.argv.slice(2),
    strict: false,
    options: {
      conffile: { type: 'string', default: '/etc/foundationdb/foundationdb.conf' },
      lockfile: { type: 'string', default: '/var/run/fdbmonitor.pid' },
      loggroup: { type: 'string', default: 'default' },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help === true) {
    tool.stdout.write(`${product}\n${USAGE}`)
    return 0
  }
  const log = createMonitorLog(String(values.loggroup))
  log(INFO, 'fdbmonitor', `Started ${product}`)
  const file = outsidePath(resolve(String(values.conffile)), tool.env)
  if (!existsSync(file)) {
    log(ERROR, 'fdbmonitor', `No configuration file at ${file}`)
    return 1
  }
  await takeLock(outsidePath(resolve(String(values.lockfile)), tool.env), tool)
  const timeScale = Number(tool.env['FDB_SIM_TIME_SCALE'] ?? 1)
  const monitor = new Monitor(file, { log, env: tool.env, timeScale, random: Math.random })
  const stopped = stopOnSignal(monitor, tool, log)
  await monitor.start()
  return await stopped
}

/**
 * Waits until no other fdbmonitor holds the lock. The lock is a socket in Linux's abstract namespace, because the kernel
 * releases it with the process; the file has only the PID. On other systems there is no lock.
 */
async function takeLock(file: string, { platform, pid }: MonitorProcess): Promise<void> {
  await writeFile(file, '', { flag: 'a' })
  // Files of different containers have the same path.
  const { dev, ino } = await stat(file)
  while (platform === 'linux' && !(await canListen(`\0fdbmonitor:${dev}:${ino}`))) {
    await new Promise((wake) => setTimeout(wake, LOCK_POLL_MS))
  }
  await writeFile(file, `${String(pid)}\n`)
}

async function canListen(path: string): Promise<boolean> {
  return await new Promise((answer, fail) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') answer(false)
      else fail(error)
    })
    server.listen(path, () => {
      server.unref()
      answer(true)
    })
  })
}

/** Resolves with the exit code after SIGTERM or SIGINT, when all processes have ended. */
async function stopOnSignal(monitor: Monitor, tool: MonitorProcess, log: MonitorLog): Promise<number> {
  tool.on('SIGHUP', () => {
    log(INFO, 'fdbmonitor', 'Received signal 1 (Hangup), resetting timeouts and reloading configuration')
    void monitor.hangUp()
  })
  return await new Promise((exit) => {
    for (const [name, text] of Object.entries(SIGNAL_TEXTS)) {
      const signal = name as keyof typeof SIGNAL_TEXTS
      tool.on(signal, () => {
        const number = String(constants.signals[signal])
        log(WARNING, 'fdbmonitor', `Received signal ${number} (${text}), shutting down`)
        void monitor.stop().then(() => {
          exit(0)
        })
      })
    }
  })
}
