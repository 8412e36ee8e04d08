import tseslint from 'typescript-eslint'

const PURE = ['workflows/**/*.ts']

export default tseslint.config(
  { ignores: ['node_modules', 'deploy', 'coverage', '**/*.gen.ts'] },
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
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
      complexity: ['error', 12],
      'max-depth': ['error', 3],
      'max-params': ['error', 4],
      'no-restricted-syntax': [
        'error',
        { selector: 'ExportDefaultDeclaration', message: 'export by name' },
        { selector: 'ExportAllDeclaration', message: 'name every export' },
      ],
    },
  },
  {
    // Pure code: whatever differs between two replays of one history is banned (conventions of the Temporal sandbox).
    files: PURE,
    rules: {
      'no-restricted-globals': ['error', 'Date', 'process', 'console', 'setTimeout', 'setInterval', 'fetch', 'require'],
      'no-restricted-properties': ['error', { object: 'Math', property: 'random', message: 'not replayable' }],
    },
  },
  {
    // Controllers of users run in the same sandbox, which has a clock and chance of its own that are the same in every replay.
    files: ['examples/**/*.ts'],
    // Activities of their own are run by the worker, outside of it.
    ignores: ['examples/**/*.activities.ts'],
    rules: {
      'no-restricted-globals': ['error', 'process', 'console', 'setTimeout', 'setInterval', 'fetch', 'require'],
    },
  },
  {
    files: ['test/**/*.ts'],
    rules: { 'max-lines-per-function': 'off', '@typescript-eslint/no-non-null-assertion': 'off' },
  },
  {
    files: ['**/*.js'],
    extends: [tseslint.configs.disableTypeChecked],
    rules: { 'no-restricted-syntax': 'off' },
  },
)
