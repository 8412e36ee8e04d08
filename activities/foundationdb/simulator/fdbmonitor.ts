// The main of the simulator's fdbmonitor: arguments, the lock file and signals (recordings 00/017, 00/018 and 20).
//
// Differences to the real fdbmonitor: it cannot become a daemon, and the wait before a restart is no process, so a
// SIGTERM during the wait logs no "Killing process" line.

import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { constants } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { Monitor } from './monitor/monitor.ts'
import { createMonitorLog, ERROR, INFO, WARNING, type MonitorLog } from './monitor/monitor-log.ts'

const VERSION = 'FoundationDB Process Monitor 7.1 (v7.1.67)'
const LOCK_POLL_MS = 100
const SIGNAL_TEXTS = { SIGTERM: 'Terminated', SIGINT: 'Interrupt' } as const

const USAGE = `${VERSION}
Usage: ${process.argv[1] ?? 'fdbmonitor'} [OPTIONS]

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

async function main(): Promise<void> {
  // Unknown options are ignored, as by the real fdbmonitor.
  const { values } = parseArgs({
    strict: false,
    options: {
      conffile: { type: 'string', default: '/etc/foundationdb/foundationdb.conf' },
      lockfile: { type: 'string', default: '/var/run/fdbmonitor.pid' },
      loggroup: { type: 'string', default: 'default' },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help === true) {
    process.stdout.write(USAGE)
    return
  }
  const log = createMonitorLog(String(values.loggroup))
  log(INFO, 'fdbmonitor', `Started ${VERSION}`)
  const file = resolve(String(values.conffile))
  if (!existsSync(file)) {
    log(ERROR, 'fdbmonitor', `No configuration file at ${file}`)
    process.exit(1)
  }
  await takeLock(resolve(String(values.lockfile)))
  const timeScale = Number(process.env['FDB_SIM_TIME_SCALE'] ?? 1)
  const monitor = new Monitor(file, { log, env: process.env, timeScale, random: Math.random })
  handleSignals(monitor, log)
  await monitor.start()
}

/**
 * Waits until no other fdbmonitor holds the lock. The lock is a socket in Linux's abstract namespace, because the kernel
 * releases it with the process; the file has only the PID. On other systems there is no lock.
 */
async function takeLock(file: string): Promise<void> {
  while (process.platform === 'linux' && !(await canListen(`\0fdbmonitor:${file}`))) {
    await new Promise((wake) => setTimeout(wake, LOCK_POLL_MS))
  }
  await writeFile(file, `${String(process.pid)}\n`)
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

function handleSignals(monitor: Monitor, log: MonitorLog): void {
  for (const [name, text] of Object.entries(SIGNAL_TEXTS)) {
    const number = constants.signals[name as keyof typeof SIGNAL_TEXTS]
    process.once(name, () => {
      log(WARNING, 'fdbmonitor', `Received signal ${String(number)} (${text}), shutting down`)
      void monitor.stop().then(() => process.exit(0))
    })
  }
  process.on('SIGHUP', () => {
    const text = 'Received signal 1 (Hangup), resetting timeouts and reloading configuration'
    log(INFO, 'fdbmonitor', text)
    void monitor.hangUp()
  })
}

await main()
