// A controller that is written in a project with nothing but the npm package, run by the processes of the package on real servers.

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

import { afterAll, describe, expect, it, vi } from 'vitest'

import { createProject, type Project } from '../package/project.ts'
import { useStage } from '../support/pawl/stage.ts'

const PAWL = 'pawl/worker/pawl.js'
const KIND = 'timetables.example.com'
const NAMESPACE = 'package'

let project: Project | undefined
// Registered first, so called last: the processes run from the project.
afterAll(() => project?.remove())

const stage = useStage(NAMESPACE, async () => {
  project = await createProject()
  expect(project.run(PAWL, 'gen', 'new', 'TimeTable')).toMatchObject({ code: 0 })
  const crd = project.run(PAWL, 'gen', 'crd', 'time-table/kind.ts')
  kubectl(crd.stdout, 'apply', '--server-side', '-f', '-')
  kubectl('', 'wait', '--for=condition=Established', '--timeout=30s', `crd/${KIND}`)
  return { controllers: join(project.dir, 'time-table/controllers.ts'), installed: project.pawl }
})

describe('a controller of the installed package', () => {
  it('updates its ConfigMap when its object changes, and reverts an edit of the ConfigMap by hand', async () => {
    const object = {
      apiVersion: 'example.com/v1alpha1',
      kind: 'TimeTable',
      metadata: { name: 'trains' },
      spec: { message: 'at nine' },
    }
    kubectl(JSON.stringify(object), 'apply', '-f', '-')
    await says('at nine')
    kubectl('', 'patch', 'configmap', 'trains', '--type=merge', '-p', JSON.stringify({ data: { message: 'at ten' } }))
    await says('at nine')
    kubectl('', 'patch', KIND, 'trains', '--type=merge', '-p', JSON.stringify({ spec: { message: 'at eleven' } }))
    await says('at eleven')
    kubectl('', 'wait', '--for=condition=Ready', '--timeout=60s', `${KIND}/trains`)
  })
})

async function says(message: string): Promise<void> {
  await vi.waitFor(
    () => expect(kubectl('', 'get', 'configmap', 'trains', '-o', 'jsonpath={.data.message}')).toBe(message),
    { timeout: 60_000, interval: 200 },
  )
}

function kubectl(input: string, ...args: readonly string[]): string {
  const { kubectlPath, kubeconfigPath } = stage.servers
  const all = ['--kubeconfig', kubeconfigPath, '--namespace', NAMESPACE, ...args]
  return execFileSync(kubectlPath, all, { input, encoding: 'utf8' })
}
