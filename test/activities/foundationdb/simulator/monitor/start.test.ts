import { rmSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { afterEach, describe, expect, it } from 'vitest'
import { FDBMONITOR, MonitorProcess, readLog, readRecording } from './monitor-process.ts'

let monitor: MonitorProcess
afterEach(async () => {
  monitor.signal('SIGTERM')
  await monitor.end()
  rmSync(monitor.folder, { recursive: true, force: true })
})

/** A configuration like the one of recording 20/001, with some servers. */
function conf(options: { servers?: number[]; knob?: number; kills?: boolean; general?: string } = {}): string {
  const {
    servers = [1],
    knob = 1,
    kills = false,
    general = 'restart_delay = 5\nrestart_delay_reset_interval = 0',
  } = options
  const sections = servers.map((number) =>
    [
      `[fdbserver.${String(number)}]`,
      `command = ${monitor.server}`,
      `public_address = 127.0.0.1:${String(4499 + 2 * number)}`,
      `knob_of_test = ${String(knob)}`,
    ].join('\n'),
  )
  return ['[general]', `kill_on_configuration_change = ${String(kills)}`, general, ...sections, ''].join('\n')
}

describe('fdbmonitor replays the recorded events of a configuration', () => {
  it('and logs the recorded lines after each of them', async () => {
    monitor = new MonitorProcess()
    monitor.writeConf(conf())
    monitor.start({ FDB_SIM_TIME_SCALE: '0.001' })
    const signalServer = (id: string, signal: NodeJS.Signals) => () => process.kill(monitor.pidOf(id), signal)
    const write = (text: () => string) => () => monitor.writeConf(text())
    const actions: Readonly<Record<string, () => void>> = {
      'conf: section 2 added': write(() => conf({ servers: [1, 2] })),
      'conf: class of both sections changed, kill_on_configuration_change=false': write(() =>
        conf({ servers: [1, 2], knob: 2 }),
      ),
      'fdbcli kill of 127.0.0.1:4503': signalServer('fdbserver.2', 'SIGUSR1'),
      'conf: touched, same text': write(() => conf({ servers: [1, 2], knob: 2 })),
      'conf: kill_on_configuration_change=true and knob added': write(() =>
        conf({ servers: [1, 2], knob: 3, kills: true }),
      ),
      'conf: parameter changed again, kill_on_configuration_change=true': write(() =>
        conf({ servers: [1, 2], knob: 4, kills: true }),
      ),
      'conf: section 2 removed': write(() => conf({ knob: 4 })),
      'SIGKILL to fdbserver.1': signalServer('fdbserver.1', 'SIGKILL'),
      'SIGTERM to fdbserver.1': signalServer('fdbserver.1', 'SIGTERM'),
      'SIGSTOP is not tested; conf file deleted': () => rmSync(monitor.conf),
      'conf written again, section 1 only': write(() => conf({ knob: 4 })),
      'conf: broken text': write(() => '[fdbserver.1\ncommand'),
      'conf: empty file': write(() => ''),
      'conf: only [general] (emptyMonitorConf)': write(() => conf({ servers: [] })),
      'conf: section 1 back': write(() => conf({ knob: 5 })),
      'conf: section without command': write(() => conf({ knob: 5 }).replace(/command.*\n/, '')),
      'conf: good again': write(() => conf({ knob: 5 })),
      'conf: changed while fdbserver is killed by SIGKILL': () => {
        monitor.writeConf(conf({ knob: 6 }))
        signalServer('fdbserver.1', 'SIGKILL')()
      },
      'SIGHUP to fdbmonitor': () => monitor.signal('SIGHUP'),
      'SIGTERM to fdbmonitor': () => monitor.signal('SIGTERM'),
    }
    for (const { event, lines } of readLog(readRecording('20-fdbmonitor/008-monitor-log-normal.txt'))) {
      actions[event ?? '']?.()
      // The recording does not show the broken text, so the name of its section is unknown.
      const expected = lines.filter(
        (line) => !/^command|(?:restart delay for|Starting) fdbserver\.1$/.test(line) || event === undefined,
      )
      expect([event, ...(await monitor.nextLines(expected.length)).sort()]).toEqual([event, ...expected.sort()])
    }
    expect(await monitor.end()).toBe(0)
  })
})

describe('fdbmonitor with a process that fails', () => {
  it.each([
    {
      file: '010-monitor-log-crash-loop-backoff.txt',
      command: '/bin/false',
      general: 'restart_delay = 20\ninitial_restart_delay = 1\nrestart_backoff = 2',
    },
    { file: '012-monitor-log-command-missing.txt', command: '/no/such/binary' },
    { file: '015-monitor-log-fdbserver-refuses-an-option.txt', option: 'nonsense_option = 1' },
  ])('logs the recorded lines of $file', async ({ file, command, general = 'restart_delay = 5', option = '' }) => {
    monitor = new MonitorProcess()
    // No process runs long enough for its delay to start again, however slow the machine is.
    const text = conf({ general: `${general}\nrestart_delay_reset_interval = 100000` })
    monitor.writeConf((command === undefined ? text : text.replace(monitor.server, command)) + option)
    monitor.start({ FDB_SIM_TIME_SCALE: '0.005' })
    // After the last restart, fdbmonitor is stopped while it waits; only the real one has a process for the wait.
    const expected = (readLog(readRecording(`20-fdbmonitor/${file}`))[0]?.lines ?? []).filter(
      (line) => !/Killing|Received/.test(line),
    )
    expect(await monitor.nextLines(expected.length)).toEqual(expected)
  })
})

describe('fdbmonitor at its start', () => {
  it('exits without a configuration file, even if the file is written later', async () => {
    monitor = new MonitorProcess()
    monitor.start({})
    expect(await monitor.end()).toBe(1)
    expect(monitor.lines()).toEqual(
      readLog(readRecording('20-fdbmonitor/013-monitor-log-conf-missing-at-start.txt'))[0]?.lines,
    )
  })

  it('runs without processes if the file is broken', async () => {
    monitor = new MonitorProcess()
    monitor.writeConf('no configuration')
    monitor.start({})
    const lines = readLog(readRecording('20-fdbmonitor/014-monitor-log-conf-broken-at-start.txt'))[0]?.lines ?? []
    expect(await monitor.nextLines(4)).toEqual(lines.slice(0, 4))
    monitor.signal('SIGTERM')
    expect(await monitor.end()).toBe(0)
    expect(monitor.lines()).toEqual(lines)
  })

  it('waits silently while another one has the lock file, and takes over after it', async () => {
    monitor = new MonitorProcess()
    monitor.writeConf(conf())
    monitor.start({})
    await monitor.nextLines(6)
    const second = new MonitorProcess()
    Object.assign(second, { folder: monitor.folder, conf: monitor.conf })
    second.start({})
    const { stderr } = JSON.parse(readRecording('20-fdbmonitor/002-second-fdbmonitor-same-lockfile.cmd.json')) as {
      stderr: string
    }
    expect(await second.nextLines(1)).toEqual(readLog(stderr)[0]?.lines)
    monitor.signal('SIGTERM')
    await monitor.end()
    expect((await second.nextLines(1))[0]).toContain('Watching conf file')
    second.signal('SIGTERM')
    expect(await second.end()).toBe(0)
  })
})

describe('the command line of fdbmonitor', () => {
  it.each([
    '00-versions-and-help/017-fdbmonitor-version',
    '00-versions-and-help/018-fdbmonitor-help',
    '20-fdbmonitor/016-no-arguments',
    '20-fdbmonitor/017-bad-option',
  ])('answers as in recording %s', (name) => {
    const { argv, ...recorded } = JSON.parse(readRecording(`${name}.cmd.json`)) as {
      argv: string[]
      exit_code: number
      stdout: string
      stderr: string
    }
    const { status, stdout, stderr } = spawnSync(FDBMONITOR, argv.slice(1), { encoding: 'utf8' })
    const plain = (text: string): string =>
      text.replaceAll(/Time="[\d.]+"/g, '').replace(/^Usage: \S+/m, 'Usage: fdbmonitor')
    expect({ status, stdout: plain(stdout), stderr: plain(stderr) }).toEqual({
      status: recorded.exit_code,
      stdout: plain(recorded.stdout),
      stderr: plain(recorded.stderr),
    })
  })
})
