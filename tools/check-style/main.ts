import { report } from '../repository/finding.ts';
import { ROOT, readSourceFiles } from '../repository/source-files.ts';
import { checkStyle } from './check.ts';

process.exitCode = report('check-style', readSourceFiles(ROOT).flatMap(checkStyle));
