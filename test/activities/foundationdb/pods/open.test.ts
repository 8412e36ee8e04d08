import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { open } from '../../../../activities/foundationdb/pods/open.ts'
import { commandIn, findNamespaces, writeEnterScript } from '../../../../worker/node-agent/container-root.ts'
import { linkMounts } from '../../../../worker/node-agent/volumes.ts'
import type { AgentPlace, ContainerProcess, OpenPods, PodContainer } from '../../../../activities/pods.ts'

const found = await findNamespaces(process.env['PATH'] ?? '')
const namespaces = 'problem' in found ? undefined : found
/** By mode, because both databases may run at the same time. */
const IPS = { translated: '127.3.1.1', mounted: '127.3.1.2' }
type Mode = keyof typeof IPS
const CONF = `[general]
kill_on_configuration_change = false
restart_delay = 60
[fdbserver.1]
command = $BINARY_DIR/fdbserver
cluster_file = /var/fdb/data/fdb.cluster
seed_cluster_file = /var/dynamic-conf/fdb.cluster
public_address = $FDB_PUBLIC_IP:4501
class = storage
logdir = /var/log/fdb-trace-logs
datadir = /var/fdb/data
locality_instance_id = $FDB_INSTANCE_ID
locality_zoneid = $FDB_ZONE_ID
`
const SIDECAR_ARGS = [
  '--copy-file',
  'fdb.cluster',
  '--input-monitor-conf',
  'fdbmonitor.conf',
  '--copy-binary',
  'fdbserver',
]
const LOG = '/var/log/fdb-trace-logs'
const MONITOR = `fdbmonitor --conffile /var/dynamic-conf/fdbmonitor.conf --lockfile /var/dynamic-conf/fdbmonitor.lockfile --loggroup test >> ${LOG}/monitor.log 2>&1`

const folder = mkdtempSync(join(tmpdir(), 'fdb-pods-'))
const running: ChildProcess[] = []
const place: AgentPlace = {
  kube: { request: () => Promise.reject(new Error('unused')), stream: () => Promise.reject(new Error('unused')) },
  folder: join(folder, 'place'),
  hostIP: '127.0.0.1',
  mountProblem: 'not permitted',
  env: { PATH: process.env['PATH'] ?? '' },
  agentEnv: { FDB_SIM_TIME_SCALE: '0.1', SECRET: 'x' },
  kubeconfig: undefined,
  pawl: [process.execPath, join(import.meta.dirname, '../../../../worker/program.ts')],
  log: { info: () => undefined, warn: () => undefined },
}
let pods: OpenPods
/** On a machine with mount namespaces. */
let mountingPods: OpenPods
beforeAll(async () => {
  mkdirSync(join(folder, 'place'))
  pods = await open({ 'fdb-bin': undefined }, place)
  mountingPods = await open({ 'fdb-bin': undefined }, { ...place, mountProblem: undefined })
})
afterAll(() => {
  for (const { pid, exitCode } of running) if (pid !== undefined && exitCode === null) process.kill(-pid, 'SIGKILL')
  rmSync(folder, { recursive: true })
})

/** A container as the node agent passes it. */
function container(
  name: string,
  options: { image: string; mounts: Record<string, string>; args?: string[]; command?: string[]; mode?: Mode },
): PodContainer {
  const { mode = 'translated' } = options
  const ip = IPS[mode]
  const root = join(folder, mode, name)
  const mounts = Object.entries(options.mounts).map(([path, volume]) => {
    const outside = join(folder, mode, 'volumes', volume)
    mkdirSync(outside, { recursive: true })
    return { volume, path, outside, isHostPath: false }
  })
  return {
    pod: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'pod-1', namespace: 'default' } },
    name,
    image: options.image,
    isInit: name.endsWith('init'),
    command: options.command ?? [],
    args: options.args ?? [],
    env: { FDB_INSTANCE_ID: 'storage-1', FDB_PUBLIC_IP: ip, FDB_CLUSTER_FILE: '/var/dynamic-conf/fdb.cluster' },
    workingDir: undefined,
    podIP: ip,
    hostIP: '127.0.0.1',
    restarts: 0,
    root,
    outside: (path) => join(root, path),
    terminationLog: join(root, 'termination-log'),
    mounts,
    spec: {},
  }
}

const SIDECAR_MOUNTS = { '/var/input-files': 'config-map', '/var/output-files': 'dynamic-conf' }
const MAIN_MOUNTS = { '/var/fdb/data': 'data', '/var/dynamic-conf': 'dynamic-conf', [LOG]: 'logs' }
const main = (version = '7.1.67', command = ['sh', '-c', MONITOR], mode?: Mode): PodContainer =>
  container('foundationdb', {
    image: `foundationdb/foundationdb:${version}`,
    mounts: MAIN_MOUNTS,
    command,
    ...(mode !== undefined && { mode }),
  })
const sidecar = (name: string, mode: Mode, ...more: string[]): PodContainer =>
  container(name, {
    image: 'foundationdb/foundationdb-kubernetes-sidecar:7.1.67-1',
    mounts: SIDECAR_MOUNTS,
    mode,
    args: [...SIDECAR_ARGS, '--main-container-version', '7.1.67', ...more],
  })

/** The process of a container in its file system, as the node agent starts it. */
async function processIn(mode: Mode, container: PodContainer): Promise<Pick<ContainerProcess, 'argv' | 'env'>> {
  const { root, mounts } = container
  const { argv, env, image = {} } = await (mode === 'mounted' ? mountingPods : pods).process(container)
  if (mode === 'translated') {
    await linkMounts(root, mounts, image)
    return { argv, env }
  }
  const script = `${root}-enter`
  await writeEnterScript({ namespaces: namespaces!, root, script, mounts, image })
  return { argv: commandIn(argv, { namespaces: namespaces!, script, cwd: '/' }), env }
}

async function start(mode: Mode, container: PodContainer): Promise<ChildProcess> {
  const { argv, env } = await processIn(mode, container)
  const [program = '', ...args] = argv
  const child = spawn(program, args, { env, stdio: 'ignore', detached: true })
  running.push(child)
  return child
}

const MODES: readonly Mode[] = namespaces === undefined ? ['translated'] : ['translated', 'mounted']
describe.each(MODES)("a pod's containers as processes with %s paths", (mode) => {
  it('start a database from the ConfigMap, with the command line of a cluster', async () => {
    const root = join(folder, mode, 'volumes/config-map')
    mkdirSync(root, { recursive: true })
    writeFileSync(join(root, 'fdb.cluster'), `test:abcdefghijklmnopqrstuvwxyz012345@${IPS[mode]}:4501\n`)
    writeFileSync(join(root, 'fdbmonitor.conf'), CONF)

    const init = await start(mode, sidecar('foundationdb-kubernetes-init', mode, '--init-mode'))
    expect(await new Promise((resolve) => init.once('exit', resolve))).toBe(0)
    await start(mode, sidecar('foundationdb-kubernetes-sidecar', mode))
    await start(mode, main('7.1.67', ['sh', '-c', MONITOR], mode))
    await expect
      .poll(
        () =>
          fetch(`http://${IPS[mode]}:8080/ready`).then(
            (answer) => answer.text(),
            () => '',
          ),
        { interval: 20 },
      )
      .toBe('OK\n')

    const cli = async (command: string): Promise<string> => {
      const args = ['--exec', command, '-C', '/var/dynamic-conf/fdb.cluster', '--timeout', '100']
      const program = mode === 'mounted' ? '/usr/bin/fdbcli' : join(main().root, 'usr/bin/fdbcli')
      const { argv, env } = await processIn(mode, main('7.1.67', [program, ...args], mode))
      return spawnSync(argv[0] ?? '', argv.slice(1), { env, encoding: 'utf8', timeout: 15_000 }).stdout
    }
    // A slow machine has the warning of a long wait before it.
    expect(await cli('configure new single memory')).toContain('Database created\n')
    expect(JSON.parse(await cli('status json'))).toMatchObject({
      cluster: {
        processes: expect.toSatisfy((processes: Record<string, { command_line: string }>) =>
          Object.values(processes).every(({ command_line }) =>
            command_line.startsWith(
              '/usr/bin/fdbserver --class=storage --cluster_file=/var/fdb/data/fdb.cluster --datadir=/var/fdb/data --locality_instance_id=storage-1 --locality_zoneid=pod-1',
            ),
          ),
        ) as unknown,
      },
    })
    expect(readFileSync(join(folder, mode, 'volumes/logs/monitor.log'), 'utf8')).toContain('FDBD joined cluster.')
  })
})

describe("a pod's containers as processes", () => {
  it('get tools of the version in the tag of their image', async () => {
    const { image } = await pods.process(main('7.1.68'))
    const fdbcli = image?.['/usr/bin/fdbcli'] ?? ''
    expect(fdbcli).toContain('/7.1.68/fdbcli')
    expect(spawnSync(fdbcli, ['--version'], { encoding: 'utf8' }).stdout).toContain('(v7.1.68)')
  })

  it('crash if the command does not exist', async () => {
    const { argv, env } = await pods.process(main('7.1.67', ['sh', '-c', 'crash-loop']))
    expect(spawnSync(argv[0] ?? '', argv.slice(1), { env }).status).toBe(127)
    const direct = await pods.process(main('7.1.67', ['crash-loop']))
    expect(spawnSync(direct.argv[0] ?? '', direct.argv.slice(1), { env }).status).toBe(127)
  })

  it('have untranslated paths on a machine with mount namespaces', async () => {
    expect(mountingPods.fileSystem).toBe('container')
    const { argv, env } = await mountingPods.process(main())
    expect(argv).toEqual(['/usr/bin/env', 'sh', '-c', MONITOR])
    expect(env).not.toHaveProperty('FDB_SIM_ROOT')
  })

  it('do not run real tools without mount namespaces', async () => {
    const tools = join(folder, 'real')
    mkdirSync(tools)
    const script =
      "#!/bin/sh\necho 'FoundationDB 7.1 (v7.1.67)'\necho 'source version 0'\necho 'protocol fdb00b071010000'\n"
    for (const name of ['fdbserver', 'fdbmonitor', 'fdbcli']) writeFileSync(join(tools, name), script, { mode: 0o755 })
    const others = await open({ 'fdb-bin': tools }, place)
    expect(others.fileSystem).toBeUndefined()
    await expect(others.process(main())).rejects.toThrow(
      `folder "${tools}": FoundationDB's tools need mount namespaces, which this machine does not permit: not permitted`,
    )
  })

  it('do not start without a tool that they need', async () => {
    const tools = join(folder, 'incomplete')
    mkdirSync(tools)
    const others = await open({ 'fdb-bin': tools }, place)
    await expect(others.process(main())).rejects.toThrow(
      `folder "${tools}": found no fdbserver, no fdbmonitor, no fdbcli of version "7.1.67"; install it there`,
    )
  })

  it('do not get other variables of the node agent', async () => {
    expect((await pods.process(main())).env).not.toHaveProperty('SECRET')
  })

  it.each([
    {
      image: 'foundationdb/foundationdb:latest',
      command: ['sh'],
      problem: "found 'foundationdb/foundationdb:latest'; expected a tag with a version",
    },
    { image: 'foundationdb/fdb-kubernetes-monitor:7.1.67', command: [], problem: 'command is missing' },
  ])('do not start with image $image and command $command', async ({ image, command, problem }) => {
    await expect(pods.process(container('foundationdb', { image, command, mounts: {} }))).rejects.toThrow(problem)
  })
})
