// Test projects and their settings. Projects that need servers share one set of servers
// (test/support/servers/servers.ts).

import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { defineConfig } from 'vitest/config'

import { readSeed } from './test/support/matrix/seed.ts'

// Test processes inherit the seed, so that all choose from the test matrices with the same seed.
process.env['PAWL_SEED'] = String(readSeed())
// Test files start a thousand processes. Node's compile cache halves the time in which a process loads its modules.
process.env['NODE_COMPILE_CACHE'] ??= join(tmpdir(), 'pawl-test-compile-cache')
// Cache of workflow bundles. Building a bundle takes 3 s of CPU time.
process.env['PAWL_BUNDLE_CACHE'] ??= join(tmpdir(), 'pawl-test-bundle-cache')

const PACKAGE_FOLDER = 'test/support/package/package-folder.ts'
const servers = { globalSetup: ['test/support/servers/servers.ts'] }

/** Measures the cost of each test file. */
const costs = { setupFiles: ['test/support/costs/measure-file.ts'] }

/**
 * Test files of one process share loaded modules, because loading modules takes much of a file's time. Each file must
 * restore the fakes and settings that it changes.
 */
const loaded = { isolate: false }

// eslint-disable-next-line no-restricted-syntax -- vitest reads the default export
export default defineConfig({
  test: {
    // Most machines have two cores, which two files and the servers keep busy. Three files at a time are not faster.
    maxWorkers: 2,
    // Long, because conditions may become true late on a shared machine. Only a failing poll takes the whole timeout.
    expect: { poll: { timeout: 30_000 } },
    // The teardown reads the audit log of the whole run (test/support/rights/rights-audit.ts). If vitest ended the
    // process before, the run would succeed without the audit.
    teardownTimeout: 180_000,
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'test/{workflows,activities,worker,types,docs,bench,examples,support}/**/*.test.ts',
            'test/architecture.test.ts',
          ],
          testTimeout: 20_000,
          ...costs,
          ...loaded,
        },
      },
      {
        test: {
          name: 'replay',
          include: ['test/replay/**/*.test.ts'],
          testTimeout: 240_000,
          hookTimeout: 240_000,
          ...costs,
        },
      },
      // Builds and installs the npm package; needs no servers.
      {
        test: {
          name: 'package',
          include: ['test/package/**/*.test.ts'],
          testTimeout: 60_000,
          globalSetup: [PACKAGE_FOLDER],
          ...costs,
        },
      },
      {
        test: {
          name: 'workflow',
          include: ['test/workflow-runs/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          ...costs,
          ...servers,
        },
      },
      {
        test: {
          name: 'env',
          include: ['test/env/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          ...costs,
          ...servers,
          ...loaded,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          // Long, because any process may pause, and the wakes of a stopped process stay leased until its lease
          // expires.
          expect: { poll: { timeout: 60_000 } },
          testTimeout: 240_000,
          hookTimeout: 240_000,
          ...costs,
          ...loaded,
          globalSetup: [...servers.globalSetup, PACKAGE_FOLDER],
        },
      },
    ],
  },
})
