import { loadModel } from './load-model.ts';
import { runProgram } from './program.ts';

runProgram(loadModel);
