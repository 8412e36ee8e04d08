// Each manifest under examples/ does with kubectl what its first lines say; every verb of a user's day goes through kubectl here.

import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { API, type LsObject, OPERATION } from '../support/cluster.ts'
import { useStage } from '../support/stage.ts'

const stage = useStage('examples')
const run = promisify(execFile)

async function kubectl(...args: readonly string[]): Promise<string> {
  const { kubectlPath, kubeconfigPath } = stage.servers
  const { stdout } = await run(kubectlPath, ['--kubeconfig', kubeconfigPath, '-n', stage.cluster.namespace, ...args])
  return stdout
}

/** How the job of an example ends: phases of Installation and items (absent: never started), and the reason that its Execution gives. */
interface End {
  readonly phase: string
  readonly items: Readonly<Record<string, string | undefined>>
  readonly reason?: string
}

const ENDS: Readonly<Record<string, End>> = {
  'cycle.yaml': {
    phase: 'Failed',
    items: { start: 'Succeeded', a: undefined, b: undefined, c: undefined },
    reason: 'CyclicDependencies',
  },
  'diamond.yaml': {
    phase: 'Succeeded',
    items: { network: 'Succeeded', database: 'Succeeded', cache: 'Succeeded', app: 'Succeeded' },
  },
  'failing-branch.yaml': {
    phase: 'Failed',
    items: { assets: 'Succeeded', schema: 'Failed', migrate: undefined, app: undefined },
    reason: 'DeployItemsFailed',
  },
}

describe.concurrent('the example', () => {
  it.each(readdirSync('examples').filter((file) => file.endsWith('.yaml')))('%s ends as it says', async (file) => {
    const manifest = parse(readFileSync(`examples/${file}`, 'utf8')) as LsObject
    const { name } = manifest.metadata
    expect(manifest.apiVersion).toBe(API)
    await kubectl('apply', '-f', `examples/${file}`)
    const root = await stage.cluster.finished(name)
    const execution = await stage.cluster.get('executions', name)
    const end: End = {
      phase: root.status?.phase ?? '',
      items: await stage.cluster.phases(name),
      ...(execution?.status?.lastError !== undefined && { reason: execution.status.lastError.reason }),
    }
    expect(end).toEqual(ENDS[file])
  })
})

describe('a user with kubectl', () => {
  it('sees the state of every object in its columns', async () => {
    await stage.cluster.finished('diamond')
    const columns = (await kubectl('get', 'inst', 'diamond'))
      .trim()
      .split('\n')
      .map((line) => line.split(/\s+/).slice(0, 3))
    expect(columns).toEqual([
      ['NAME', 'PHASE', 'EXECUTION'],
      ['diamond', 'Succeeded', 'diamond'],
    ])
    expect(await kubectl('get', 'exec,di')).toMatch(/execution\S*\/diamond\s+Succeeded/)
    expect(await kubectl('explain', 'inst.status.jobIDFinished')).toMatch(/last job that ended/)
  })

  it('starts a job by an annotation, and one of an execution by its status', async () => {
    const { cluster } = stage
    const first = await cluster.finished('diamond')
    await kubectl('annotate', '--overwrite', 'inst', 'diamond', `${OPERATION}=reconcile`)
    expect((await cluster.finished('diamond', first.status?.jobID)).status).toMatchObject({ phase: 'Succeeded' })

    const patch = JSON.stringify({ status: { jobID: 'by-kubectl' } })
    await kubectl('patch', 'exec', 'diamond', '--subresource=status', '--type=merge', '-p', patch)
    const again = await cluster.until('executions', 'diamond', (it) => it?.status?.jobIDFinished === 'by-kubectl')
    expect(again.status).toMatchObject({ phase: 'Succeeded', jobID: 'by-kubectl' })
  })

  it('deletes everything and waits until it is gone', async () => {
    await kubectl('delete', '--wait', '--timeout=60s', 'inst', 'diamond', 'failing-branch')
    const names = (await kubectl('get', 'inst,exec,di', '-o', 'name')).trim().split('\n')
    expect(names.filter((name) => !name.includes('cycle'))).toEqual([])
  })
})
