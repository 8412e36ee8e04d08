// Vitest globalSetup: creates the folder of the npm package that the test files of a run share (built-package.ts).

import { mkdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  export interface ProvidedContext {
    packageFolder: string
  }
}

// The process is the same for all projects of a run, so they share the folder.
const folder = join(tmpdir(), `pawl-built-package-${process.pid}`)

export async function setup(project: TestProject): Promise<void> {
  await mkdir(folder, { recursive: true })
  project.provide('packageFolder', folder)
}

export async function teardown(): Promise<void> {
  await rm(folder, { recursive: true, force: true })
}
