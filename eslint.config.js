import tseslint from 'typescript-eslint'

import { prose } from './eslint/prose.js'

const PURE = ['workflows/**/*.ts']

/**
 * Modules that read or write user data. They must not use JSON.parse and JSON.stringify, which lose digits of integers
 * beyond 2^53, or throw (ADR 62).
 */
const USER_DATA = [
  'activities/journal/clean-text.ts',
  'activities/journal/database.ts',
  'activities/journal/write/event-rows.ts',
  'activities/kube/http-client.ts',
  'activities/kube/watch-stream.ts',
  'activities/landscaper/bounded/data-worker.ts',
  'activities/landscaper/bounded/compressed-items.ts',
  'activities/landscaper/bounded/tenant-data.ts',
  'activities/landscaper/components/job-blueprints.ts',
  'activities/landscaper/components/normalise.ts',
  'activities/landscaper/components/registry-client.ts',
  'activities/landscaper/deploy/run/item-export.ts',
  'activities/landscaper/render/schema/worker.ts',
  'activities/landscaper/execution/items.ts',
  'activities/landscaper/further-rules.ts',
  'activities/landscaper/installation/sub-installation-objects.ts',
  'activities/landscaper/render/executor.ts',
  'activities/landscaper/render/rendered-output.ts',
  'activities/landscaper/render/schema/schema-process.ts',
  'activities/landscaper/render/engine/template-engine.ts',
  'activities/yaml/read-yaml.ts',
  'activities/run/level/fit-states.ts',
  'activities/run/level/own-calls.ts',
  'worker/api/wire.ts',
  'worker/cli/query/versions.ts',
  'worker/cli/query/diff.ts',
  'worker/cli/query/get.ts',
  'worker/cli/query/history.ts',
  'worker/cli/plan/object-changes.ts',
  'worker/cli/plan/plan-files.ts',
  'worker/cli/steer/open-object.ts',
  'worker/cli/wing-commands.ts',
  'worker/cli/yaml-text.ts',
  'worker/reconciler/temporal/exact-payloads.ts',
  'worker/reconciler/temporal/payload-size.ts',
  'worker/webhook/review.ts',
  'worker/webhook/server.ts',
  'workflows/kit/kind/projection.ts',
  'workflows/kit/run/loop/own-calls.ts',
  'workflows/kit/run/loop/recording.ts',
  'workflows/kit/run/loop/temporal.ts',
  'workflows/landscaper/execution/routes.ts',
]

/** Folders whose comments, test titles and names follow the rules of eslint/prose.js. */
const PROSE = [
  'deploy/image',
  'deploy/release',
  'eslint',
  'activities',
  'workflows',
  'worker',
  'site',
  'test/bench',
  'test/support',
]

export default tseslint.config(
  {
    ignores: [
      'node_modules',
      'deploy/*/**',
      '!deploy/image',
      '!deploy/image/**',
      '!deploy/release',
      '!deploy/release/**',
      'coverage',
      'site/dist',
      '**/*.gen.ts',
    ],
  },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ['*.js', 'worker/*.js'] },
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
      'no-sequences': 'error',
      complexity: ['error', 12],
      'max-depth': ['error', 3],
      'max-params': ['error', 4],
      'no-restricted-syntax': [
        'error',
        { selector: 'ExportDefaultDeclaration', message: 'export by name' },
        { selector: 'ExportAllDeclaration', message: 'name every export' },
        {
          selector: 'ObjectExpression > SpreadElement > ObjectExpression',
          message: 'write the properties instead of a spread literal',
        },
        {
          selector:
            'CallExpression[callee.property.name=/^(?:trace|debug|info|warn|error|fatal)$/]:matches([callee.object.name="log"], [callee.object.property.name="log"]) > :matches(TemplateLiteral[expressions.length>0], BinaryExpression)',
          message: 'messages of logs are constants; write values as fields',
        },
      ],
    },
  },
  {
    // Workflow code must be deterministic, so globals that differ between two replays are forbidden.
    files: PURE,
    rules: {
      'no-restricted-globals': ['error', 'Date', 'process', 'console', 'setTimeout', 'setInterval', 'fetch', 'require'],
      'no-restricted-properties': ['error', { object: 'Math', property: 'random', message: 'not replayable' }],
    },
  },
  {
    // Users' controllers run in Temporal's workflow sandbox, whose clock and random numbers are the same in every
    // replay.
    files: ['examples/**/*.ts'],
    // The worker runs users' activities outside of the sandbox.
    ignores: ['examples/**/*.activities.ts'],
    rules: {
      'no-restricted-globals': ['error', 'process', 'console', 'setTimeout', 'setInterval', 'fetch', 'require'],
    },
  },
  {
    files: USER_DATA,
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'Math', property: 'random', message: 'not replayable' },
        { object: 'JSON', property: 'parse', message: 'use readJson' },
        { object: 'JSON', property: 'stringify', message: 'use writeJson' },
      ],
    },
  },
  {
    files: ['activities/**/*.ts', 'workflows/**/*.ts', 'worker/**/*.ts'],
    ignores: ['activities/yaml/**'],
    rules: {
      'no-restricted-imports': [
        'error',
        { paths: [{ name: 'yaml', message: 'use activities/yaml: one reader and one writer' }] },
      ],
    },
  },
  {
    files: ['test/**/*.ts'],
    rules: { 'max-lines-per-function': 'off', '@typescript-eslint/no-non-null-assertion': 'off' },
  },
  {
    files: PROSE.map((folder) => `${folder}/**/*.{ts,js}`),
    plugins: { prose },
    rules: { 'prose/sentences': 'error', 'prose/names': 'error', 'no-nested-ternary': 'error' },
  },
  {
    files: ['**/*.js'],
    extends: [tseslint.configs.disableTypeChecked],
    rules: { 'no-restricted-syntax': 'off' },
  },
)
