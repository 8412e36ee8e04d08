// `pawl dev` as a user runs it, with its own servers (the shared servers of the tests have no supervisor).

import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { access, copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it, type TestContext, vi } from 'vitest'

import { makeAccount } from '../support/rights/accounts.ts'
import { configFile } from '../support/chaos/config-file.ts'
import { Cluster, installation } from '../support/cluster/cluster.ts'
import type { DevStatus } from '../../worker/dev/state.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PAWL = join(ROOT, 'worker/pawl.js')
const run = promisify(execFile)

// The tests wait for servers and mostly do not compute, so they run at the same time.
describe.concurrent('pawl dev, detached, with a data folder', { timeout: 300_000 }, () => {
  it('starts all parts, reports them, keeps the data over a restart, and stops all parts', async (context) => {
    const dataDir = await folder(context)
    const { stdout } = await pawl('dev', '--detach', '--data-dir', dataDir)
    expect(stdout).toContain(`export KUBECONFIG=${dataDir}/kubeconfig`)
    expect(stdout).toContain(`export PATH=${dataDir}/bin:$PATH`)

    const first = status(dataDir)
    expect(first).toMatchObject({
      up: true,
      dataDir,
      kubeconfig: `${dataDir}/kubeconfig`,
      kubectl: `${dataDir}/bin/kubectl`,
    })
    expect(first.parts.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['etcd', 'kube-apiserver', 'postgresql', 'temporal']),
    )
    await asksByToken(first)
    await kubectl(dataDir, 'create', 'configmap', 'kept', '--from-literal=key=value')
    expect(await readableByOthers(dataDir)).toEqual([])
    await expect(pawl('dev', '--data-dir', dataDir)).rejects.toThrow(
      /is in use by process \d+, expected none; see pawl dev status, or pawl dev stop/,
    )

    await pawl('dev', 'stop', '--data-dir', dataDir)
    expect(status(dataDir)).toMatchObject({ up: false, parts: [] })
    expect(first.parts.filter(({ pid }) => pid !== null && isAlive(pid))).toEqual([])

    await pawl('dev', '--detach', '--data-dir', dataDir, '--wings', 'landscaper')
    const second = status(dataDir)
    expect(second.parts.map(addressed).toSorted()).toEqual(first.parts.map(addressed).toSorted())
    expect(await kubectl(dataDir, 'get', 'configmap', 'kept', '-o', 'jsonpath={.data.key}')).toBe('value')
    // Pods start at once after the restart, because `pawl dev` deletes the node leases of the previous kwok, which
    // would be valid for 40 s.
    await kubectl(dataDir, 'run', 'web', '--image=app')
    await kubectl(dataDir, 'wait', '--for=condition=Ready', 'pod/web', '--timeout=120s')
    expect(await kubectl(dataDir, 'get', 'crd', '-o', 'name')).toContain('installations.landscaper.gardener.cloud')
    for (const name of ['bridge', 'worker', 'webhook'])
      expect(await readFile(join(dataDir, 'logs', `${name}.log`), 'utf8')).toContain('"wings":["landscaper"]')
    await pawl('dev', 'stop', '--data-dir', dataDir)
  })
})

describe.concurrent('pawl dev in the foreground, ephemeral', { timeout: 300_000 }, () => {
  it('reloads changed code, starts parts again that were killed, and deletes its data at the end', async (context) => {
    const module = await controllers(context)
    const { dataDir, child, output } = await foreground(context, '--controllers', module, '--watch')
    await restartsOn(module, output)
    const { up, parts } = status(dataDir)
    expect(up).toBe(true)
    const killed = parts.filter(({ name }) => ['kwok', 'bridge'].includes(name))
    for (const { pid } of killed) process.kill(pid ?? 0, 'SIGKILL')
    for (const { name } of killed) {
      const line = `${name} ended with signal SIGKILL; started again (log: ${dataDir}/logs/${name}.log)`
      await vi.waitFor(() => expect(output()).toContain(line), { timeout: 90_000 })
    }
    const after = status(dataDir)
    expect(after).toMatchObject({ up: true, parts: parts.map(({ name, address }) => ({ name, address })) })
    expect(after.parts.filter(({ pid }) => killed.some((one) => one.pid === pid))).toEqual([])
    child.kill('SIGTERM')
    const [code] = (await once(child, 'exit')) as [number]
    expect(code).toBe(0)
    expect(after.parts.filter(({ pid }) => pid !== null && isAlive(pid))).toEqual([])
    await expect(access(dataDir)).rejects.toThrow('ENOENT')
  })

  it('refuses a data folder that contains other files', async (context) => {
    const dataDir = await folder(context)
    await run('touch', [join(dataDir, 'thesis.txt')])
    await expect(pawl('dev', '--ephemeral', '--data-dir', dataDir)).rejects.toThrow(
      'is not empty; use an empty or a new folder, because --ephemeral removes it at the end',
    )
    expect(await readdir(dataDir)).toEqual(['thesis.txt'])
  })

  it('refuses an invalid configuration of a wing before it starts anything', async (context) => {
    const [dataDir, elsewhere] = [await folder(context), await folder(context)]
    const wrong = configFile(elsewhere, { injector: { chaosNamespace: 'No' } })
    const flags = ['--wings', 'landscaper,chaos', '--chaos-config', wrong]
    await expect(pawl('dev', '--detach', '--data-dir', dataDir, ...flags)).rejects.toThrow(
      `--chaos-config ${wrong}: injector.chaosNamespace: found "No"; expected the name of a namespace`,
    )
    expect(await readdir(dataDir)).toEqual([])
  })
})

/** Checks that the API of `pawl dev` answers a user who has only a token, by the permissions of the user. */
async function asksByToken({ parts, dataDir }: DevStatus): Promise<void> {
  const { address = null } = parts.find(({ name }) => name === 'api') ?? {}
  expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  const place = { kubeconfigPath: join(dataDir, 'kubeconfig') }
  const cluster = new Cluster(place.kubeconfigPath, 'alice')
  await cluster.createNamespace()
  await cluster.create(installation('shop', [{ name: 'app' }]), 'installations')
  await cluster.waitUntilFinished('shop')
  const account = await makeAccount(place, cluster, 'alice')
  await cluster.kube.close()
  const asAlice = async (...words: readonly string[]) => {
    const env = { ...process.env, KUBECONFIG: account, PAWL_DATABASE_URL: '', PAWL_DATA_DIR: join(dataDir, 'none') }
    return await run(process.execPath, [PAWL, ...words, '-n', 'alice', '--api-url', address ?? ''], { env })
  }
  await expect(asAlice('get', 'inst')).rejects.toThrow('you may not list Installation')
  const role = ['role', 'asking', '--verb=get,list', '--resource=installations.landscaper.gardener.cloud']
  await kubectl(dataDir, '-n', 'alice', 'create', ...role)
  const binding = ['rolebinding', 'asking', '--role=asking', '--serviceaccount=alice:alice']
  await kubectl(dataDir, '-n', 'alice', 'create', ...binding)
  // The API caches permissions for some seconds.
  const told = async () => (await asAlice('why', 'inst/shop')).stdout
  await vi.waitFor(async () => expect(await told()).toContain('Succeeded'), { timeout: 30_000, interval: 1000 })
}

async function folder({ onTestFinished }: TestContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'pawl-dev-test-'))
  onTestFinished(async () => {
    spawnSync(process.execPath, [PAWL, 'dev', 'stop', '--data-dir', dir])
    await rm(dir, { recursive: true, force: true })
  })
  return dir
}

/** Creates a project with a module of controllers. */
async function controllers(context: TestContext): Promise<string> {
  const dir = await folder(context)
  await mkdir(join(dir, 'node_modules'))
  await symlink(ROOT, join(dir, 'node_modules/pawl'))
  await writeFile(join(dir, 'package.json'), '{"type":"module"}')
  for (const file of ['widget.ts', 'widget.activities.ts', 'test-kind.ts'])
    await copyFile(join(ROOT, 'test/support/level', file), join(dir, file))
  return join(dir, 'widget.ts')
}

/** Checks that `pawl dev` reports code that it cannot bundle, with the file, and runs the next change of the code. */
async function restartsOn(module: string, output: () => string): Promise<void> {
  const code = await readFile(module, 'utf8')
  await writeFile(module, `import 'node:crypto'\n${code}`)
  await vi.waitFor(() => expect(output()).toContain('waits for a change of the code'), { timeout: 90_000 })
  expect(output()).toMatch(
    /(?:bridge|worker) ended with exit code 1[^]*widget\.ts:1:1: imports node:crypto, which is not available in passes/,
  )
  await writeFile(module, code)
  await vi.waitFor(() => expect(output()).toMatch(/runs the new code, after [\d.]+ s/), { timeout: 90_000 })
}

async function pawl(...args: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  try {
    return await run(process.execPath, [PAWL, ...args])
  } catch (error) {
    // The message contains only stderr. The reason of a failed start is in the progress output on stdout.
    const { message, stdout } = error as Error & { readonly stdout: string }
    throw new Error(`${message}\n${stdout}`, { cause: error })
  }
}

function status(dataDir: string): DevStatus {
  const { stdout } = spawnSync(process.execPath, [PAWL, 'dev', 'status', '--data-dir', dataDir, '-o', 'json'], {
    encoding: 'utf8',
  })
  return JSON.parse(stdout) as DevStatus
}

async function kubectl(dataDir: string, ...args: readonly string[]): Promise<string> {
  return (await run(join(dataDir, 'bin', 'kubectl'), [`--kubeconfig=${dataDir}/kubeconfig`, ...args])).stdout
}

async function foreground(
  context: TestContext,
  ...flags: readonly string[]
): Promise<{ dataDir: string; child: ChildProcess; output: () => string }> {
  const dataDir = await folder(context)
  const child = spawn(process.execPath, [PAWL, 'dev', '--ephemeral', '--data-dir', dataDir, ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  const ready = new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        text += chunk.toString()
        if (text.includes('Ctrl-C stops all')) resolve()
      })
    }
    child.once('exit', () => reject(new Error(`pawl dev ended: ${text}`)))
  })
  await ready
  return { dataDir, child, output: () => text }
}

/** Returns the files that other users can read, in folders that they can enter. */
async function readableByOthers(dir: string): Promise<string[]> {
  const found: string[] = []
  for (const entry of await readdir(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name)
    if (entry.isSymbolicLink()) continue
    const { mode } = await stat(path)
    if (entry.isDirectory()) found.push(...((mode & 0o055) === 0 ? [] : await readableByOthers(path)))
    else if ((mode & 0o077) !== 0) found.push(path)
  }
  return found
}

function addressed({ name, address }: { name: string; address: string | null }): string {
  return `${name} ${address ?? ''}`
}

function isAlive(pid: number): boolean {
  return (
    spawnSync('kill', ['-0', String(pid)]).status === 0 &&
    !/^State:\s+Z/m.test(spawnSync('cat', [`/proc/${pid}/status`], { encoding: 'utf8' }).stdout)
  )
}
