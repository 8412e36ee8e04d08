// A test run fails when the audit log shows that bridge or worker lack a permission, or have a permission that they never use.

import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { checkRights } from '../../support/rights/rights-audit.ts'

const ROOT = join(import.meta.dirname, '../../..')
const WORKER = 'system:serviceaccount:pawl-rights:pawl-worker'
const BRIDGE = 'system:serviceaccount:pawl-rights-other-1:pawl-bridge'
const KITES = { apiGroup: 'toys.example.com', resource: 'kites' }

let dir: string
const logPath = () => join(dir, 'audit.log')
const roles = () => join(dir, 'rbac')

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'pawl-rights-'))
  await mkdir(join(roles(), 'toys'), { recursive: true })
  await role('toys/bridge.yaml', 'toys.example.com', ['kites'], ['list', 'watch'])
  await role('toys/worker.yaml', 'toys.example.com', ['kites/finalizers', 'kites/status'], ['update'])
  await role('worker.yaml', '', ['events'], ['create'])
})
afterEach(() => rm(dir, { recursive: true }))

async function role(path: string, group: string, resources: readonly string[], verbs: readonly string[]) {
  await writeFile(join(roles(), path), JSON.stringify({ rules: [{ apiGroups: [group], resources, verbs }] }))
}

/** A line of the log. */
function line(username: string, verb: string, objectRef: object, decision: 'allow' | 'forbid' = 'allow'): string {
  const annotations = { 'authorization.k8s.io/decision': decision }
  return JSON.stringify({ verb, requestURI: `/apis/x?verb=${verb}`, user: { username }, objectRef, annotations })
}

const ALL = [
  line(BRIDGE, 'list', KITES),
  line(BRIDGE, 'watch', KITES),
  line(WORKER, 'update', { ...KITES, subresource: 'status' }),
  line(WORKER, 'create', { resource: 'events' }),
]

/** The problems, one line each. */
async function wrongIn(lines: readonly string[], isWhole: boolean): Promise<readonly string[]> {
  await writeFile(logPath(), lines.map((one) => `${one}\n`).join(''))
  const error = await checkRights(logPath(), isWhole, roles()).catch((thrown: unknown) => thrown)
  return error === undefined ? [] : (error as Error).message.split('\n').slice(1)
}

describe('the audit of permissions in a test run', () => {
  it('passes when each permission is used and no request is denied', async () => {
    expect(await wrongIn(ALL, true)).toEqual([])
  })

  it('reports each denied request once, also when only some tests ran', async () => {
    const denied = line(WORKER, 'delete', KITES, 'forbid')
    const problem = 'denied: worker: delete kites.toys.example.com (/apis/x)'
    for (const isWhole of [true, false]) expect(await wrongIn([...ALL, denied, denied], isWhole)).toEqual([problem])
  })

  it('reports unused permissions if all tests ran', async () => {
    const lines = ALL.slice(1, 3)
    expect(await wrongIn(lines, true)).toEqual([
      'unused: bridge: list kites.toys.example.com',
      'unused: worker: create events',
    ])
    expect(await wrongIn(lines, false)).toEqual([])
  })

  it('counts a permission as used only after an allowed request of the same process', async () => {
    const lines = [line(WORKER, 'list', KITES), ...ALL.slice(1)]
    expect(await wrongIn(lines, true)).toEqual(['unused: bridge: list kites.toys.example.com'])
    expect(await wrongIn([line(BRIDGE, 'list', KITES, 'forbid'), ...ALL.slice(1)], true)).toEqual([
      'denied: bridge: list kites.toys.example.com (/apis/x)',
      'unused: bridge: list kites.toys.example.com',
    ])
  })

  it('ignores other service accounts and an incomplete last line of the log', async () => {
    const others = ['system:serviceaccount:rbac:pawl-worker', 'system:serviceaccount:pawl-rights:here']
    const forbidden = others.map((username) => line(username, 'delete', KITES, 'forbid'))
    expect(await wrongIn([...ALL, ...forbidden, ALL[0]!.slice(0, -20)], true)).toEqual([])
  })
})

describe('a run of vitest', () => {
  // As test/support/servers/servers.ts does it.
  const SET_UP = `
import { checkRights } from '${ROOT}/test/support/rights/rights-audit.ts'
export const teardown = () => checkRights('LOG', true, 'ROLES')
`
  const TEST = "import { it } from 'vitest'\nit('passes', () => undefined)\n"

  it('fails when the audit fails, although all its tests pass', { timeout: 60_000 }, async () => {
    await symlink(join(ROOT, 'node_modules'), join(dir, 'node_modules'), 'dir')
    await writeFile(join(dir, 'set-up.ts'), SET_UP.replace('LOG', logPath()).replace('ROLES', roles()))
    await writeFile(join(dir, 'one.test.ts'), TEST)
    await writeFile(join(dir, 'vitest.config.mjs'), "export default { test: { globalSetup: ['set-up.ts'] } }\n")
    expect(await vitestOn(ALL)).toMatchObject({ status: 0 })
    const { status, said } = await vitestOn(ALL.slice(1))
    expect(status).toBe(1)
    expect(said).toContain('unused: bridge: list kites.toys.example.com')
    expect(said).toContain('1 passed')
  })

  async function vitestOn(lines: readonly string[]) {
    await writeFile(logPath(), lines.map((one) => `${one}\n`).join(''))
    const args = [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', '--no-color']
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: dir, encoding: 'utf8' })
    return { status, said: stdout + stderr }
  }
})
