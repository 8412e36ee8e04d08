import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

import { drawPlan, listPlans } from '../../../worker/plans/draw-plan.ts'
import { findPlans, planNamed } from '../../../worker/plans/find-plans.ts'
import { createRegistry } from '../../../worker/server/registry.ts'
import { executionPlan } from '../../../workflows/landscaper/execution/plan.ts'
import { action, defineLevel, describe as drawn, done, nop, toJson } from '../../../workflows/kit/index.ts'
import { runCommand } from '../../support/pawl/run-command.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const plans = await findPlans(createRegistry([], undefined, new Set()))

describe('the plan of a kind', () => {
  it.each(['Execution', 'execution', 'executions', 'EXEC', 'executions.landscaper.gardener.cloud'])(
    'is found by the name %s',
    (name) => {
      expect(planNamed(plans, name)).toMatchObject({ phases: executionPlan })
    },
  )

  it('is found by each name that `pawl plan list` has', () => {
    const rows = listPlans(plans).trimEnd().split('\n')
    const names = rows.flatMap((row) =>
      row
        .split(/ {3,}/)
        .slice(0, 2)
        .flatMap((cell) => cell.split(', ')),
    )
    expect(names).toContain('dicron')
    for (const name of names) expect(drawPlan(planNamed(plans, name), 'text', plans)).toMatch(/^\w+ \(/)
  })

  it.each([
    ['cron', 'DisruptionCron'],
    ['rollout', 'DisruptionRollout'],
    ['disrupt', 'Disruption or DisruptionCron or DisruptionRollout'],
    ['exe', 'Execution'],
    ['instalation', 'Installation'],
  ])('is not found by a part of its name or a misspelled name, such as %s; the error names %s', (name, meant) => {
    expect(() => planNamed(plans, name)).toThrow(`kind '${name}': found no plan; did you mean ${meant}?`)
  })

  it.each(['dataobject', 'ex', ''])('is not found by the name %j, and the error lists the known kinds', (name) => {
    expect(() => planNamed(plans, name)).toThrow(
      `kind '${name}': found no plan; expected one of DeployItem or di, Disruption or dis, DisruptionCron or dicron, DisruptionRollout or diroll, Execution or exec, FoundationDBBackup or fdbbackup, FoundationDBCluster or fdb, FoundationDBRestore or fdbrestore, Installation or inst, Namespace, Target or tgt or tg, TargetSync or tgs; add your own controllers with --controllers FILE`,
    )
  })
})

describe('two kinds with the same name', async () => {
  const target = (apiVersion: string) => ({ apiVersion, kind: 'Service', plural: 'services', shortNames: ['svc'] })
  const level = (name: string, apiVersion: string) =>
    defineLevel({ name, target: target(apiVersion), queries: {}, plan: nop })
  const levels = [level('core', 'v1'), level('other', 'example.com/v1'), level('twice', 'v1')]
  const services = await findPlans({ levels, controllers: new Map() })

  it.each(['Service', 'services', 'svc'])('are ambiguous by the name %s; the error lists their full names', (name) => {
    expect(() => planNamed(services, name)).toThrow(
      `kind '${name}': found 2 kinds of this name with a plan; expected one of services., services.example.com`,
    )
  })

  it.each(['services.example.com', 'Service.example.com', 'other'])('are distinguished by the name %s', (name) => {
    expect(planNamed(services, name).controller).toBe('other')
  })

  it.each(['services.', 'service.'])('need the name of a controller if the kind %s has two controllers', (name) => {
    expect(() => planNamed(services, name)).toThrow('kind Service: found 2 controllers; expected one of core, twice')
    expect(drawPlan(planNamed(services, 'twice'), 'text', services)).toContain('of v1, controller twice\n')
    expect(drawPlan(planNamed(services, 'other'), 'text', services)).toContain('of example.com/v1\n')
  })

  it('are listed with their groups', () => {
    const names = listPlans([...services, ...plans])
      .split('\n')
      .map((line) => line.split(' ')[0])
    expect(names.slice(0, 3)).toEqual(['Service', 'Service.example.com', 'Service'])
    expect(names).toContain('Installation')
    expect(listPlans(services)).toMatch(/^Service +services, svc +every pass of controller core$/m)
  })
})

describe('the plan of a job as text', () => {
  const lines = drawPlan(planNamed(plans, 'exec'), 'text').split('\n')

  it('starts with the kind and the first phases of jobs', () => {
    expect(lines.slice(0, 3)).toEqual([
      'Execution (executions, exec) of landscaper.gardener.cloud/v1alpha1',
      '',
      'A job starts in Init, a deletion in InitDelete.',
    ])
  })

  it('has the tree of each phase below a heading with the next phase', () => {
    for (const [name, { step, next }] of Object.entries(executionPlan.phases)) {
      const heading = lines.findIndex((line) => line.startsWith(name))
      const tree = drawn(step).split('\n')
      expect(lines[heading]).toContain(next === name ? 'until its step ends it' : `─► ${next};`)
      expect(lines[heading]).toContain(executionPlan.failed(name))
      expect(lines.slice(heading + 1, heading + 1 + tree.length)).toEqual(tree.map((line) => `  ${line}`))
    }
  })
})

describe('a plan without phases as text', () => {
  it('is one tree', () => {
    expect(drawPlan(planNamed(plans, 'di'), 'text').split('\n')).toEqual([
      'DeployItem (deployitems, di) of landscaper.gardener.cloud/v1alpha1',
      '',
      'every pass',
      '  sequential',
      '  ├─ beginItem',
      '  ├─ guardItem',
      '  └─ deployItem',
      '',
    ])
  })
})

describe('a plan as JSON or Mermaid', () => {
  it('has every phase with its tree and its next phase', () => {
    const data = JSON.parse(drawPlan(planNamed(plans, 'exec'), 'json')) as object
    expect(data).toMatchObject({
      kind: 'Execution',
      apiVersion: 'landscaper.gardener.cloud/v1alpha1',
      first: { job: 'Init', deletion: 'InitDelete' },
      phases: Object.entries(executionPlan.phases).map(([name, { step, next }]) => ({
        name,
        next,
        failed: executionPlan.failed(name),
        plan: toJson(step),
      })),
      finalPhases: executionPlan.finalPhases,
    })
  })

  it('has one tree if it has no phases', () => {
    expect(JSON.parse(drawPlan(planNamed(plans, 'di'), 'json'))).toMatchObject({
      kind: 'DeployItem',
      plan: { name: 'sequential', children: ['beginItem', 'guardItem', 'deployItem'].map((name) => ({ name })) },
    })
  })

  it('is a flowchart in Mermaid', () => {
    expect(drawPlan(planNamed(plans, 'inst'), 'mermaid')).toMatch(/^flowchart TD\n {2}subgraph p0\["Init"\]\n/)
    expect(drawPlan(planNamed(plans, 'di'), 'mermaid')).toMatch(/^flowchart TD\n {2}s0\("sequential"\)\n/)
  })
})

describe('the known plans', () => {
  it('are the plans of the built-in controllers', () => {
    expect(plans.map(({ kind }) => kind.kind)).toEqual([
      'DeployItem',
      'Disruption',
      'DisruptionCron',
      'DisruptionRollout',
      'Execution',
      'FoundationDBBackup',
      'FoundationDBCluster',
      'FoundationDBRestore',
      'Installation',
      'Namespace',
      'Target',
      'TargetSync',
    ])
    expect(plans.every(({ phases, step }) => (phases === undefined) !== (step === undefined))).toBe(true)
  })
})

describe('the plan of a controller in level mode', async () => {
  const leaf = (name: string) => action(name, () => done)
  const target = { apiVersion: 'example.com/v1', kind: 'Shop', plural: 'shops' }
  const shop = { name: 'shop', target, queries: {}, plan: leaf('open'), finalizer: 'example.com/shop' }
  const levels = [defineLevel({ ...shop, onDelete: leaf('close'), onGone: leaf('clear') })]
  const [planned] = await findPlans({ levels, controllers: new Map() })
  if (planned === undefined) throw new Error('expected a plan')

  it('has one tree for every pass, one for deletions, and one for objects without the finalizer', () => {
    expect(drawPlan(planNamed([planned], 'shops.example.com'), 'text').split('\n')).toEqual([
      'Shop (shops) of example.com/v1',
      '',
      'every pass',
      '  open',
      '',
      'a pass while the object is being deleted',
      '  close',
      '',
      'a pass after another client has removed the finalizer',
      '  clear',
      '',
    ])
    expect(JSON.parse(drawPlan(planned, 'json'))).toMatchObject({
      plan: { name: 'open' },
      onDelete: { name: 'close' },
      onGone: { name: 'clear' },
    })
  })

  it('is read from the modules of --controllers', { timeout: 30_000 }, async () => {
    const example = ['--controllers', join(ROOT, 'examples/cronjob/controllers.ts')]
    const { stdout } = await runCommand('plan', 'show', 'cronjob', ...example)
    expect(stdout).toContain('  │  ├─ listActiveJobsAndUpdateStatus\n')
    expect((await runCommand('plan', 'list', ...example)).stdout).toMatch(/^CronJob +cronjobs/)
    const nowhere = await runCommand('plan', 'list', '--controllers', 'nowhere.ts')
    expect(nowhere.stderr).toContain('nowhere.ts does not exist; expected an existing file')
  })
})

describe('the command pawl plan', () => {
  it('prints the requested plan', async () => {
    expect((await runCommand('plan', 'show', 'executions')).stdout).toBe(drawPlan(planNamed(plans, 'exec'), 'text'))
    const json = await runCommand('plan', 'show', 'exec', '--format', 'json')
    expect(json.stdout).toBe(drawPlan(planNamed(plans, 'exec'), 'json'))
    expect((await runCommand('plan', 'list')).stdout).toBe(listPlans(plans))
  })
})
